// Keeps the overview true while it stays open: the same page, rendered anew by the server every five seconds.

import { tellTimes } from "./times.js";

const EVERY_MS = 5000;

async function refresh() {
  const shown = document.querySelector("[data-fresh]");
  // Nobody looks, or somebody is about to follow a link.
  if (document.hidden || shown.contains(document.activeElement)) return;
  const answer = await fetch(location.href, { redirect: "error" }).catch(() => null);
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector("[data-fresh]");
  if (!fresh) return;
  shown.replaceWith(document.adoptNode(fresh));
  tellTimes();
}

setInterval(refresh, EVERY_MS);
