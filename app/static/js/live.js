// Follows a job or a batch: by server-sent events, and by asking every two seconds where those do not get through.
// What changed is taken from the page itself, rendered anew by the server, so there is one rendering.

import { tellTimes } from "./times.js";

const POLL_MS = 2000;
const AT_MOST_EVERY_MS = 1000;

/** Follow `root` ([data-live]) until it is final. */
export function startLive(root) {
  if (!root || root.dataset.final === "yes") return;
  const follower = new Follower(root);
  follower.listen();
}

class Follower {
  constructor(root) {
    this.root = root;
    this.refreshing = false;
    this.again = false;
  }

  listen() {
    if (!("EventSource" in window)) return this.poll();
    const source = new EventSource(this.root.dataset.events);
    const onFact = (event) => {
      this.take(JSON.parse(event.data));
      if (this.final) source.close();
    };
    // A batch's stream also tells of each of its jobs; its counts say when to look.
    source.addEventListener(this.root.dataset.live, onFact);
    source.addEventListener("error", () => {
      if (this.final) return source.close();
      // CONNECTING: the browser tries again by itself. CLOSED: it was refused, 503 for one.
      if (source.readyState === EventSource.CLOSED) this.poll();
    });
  }

  async poll() {
    while (!this.final) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      const answer = await fetch(this.root.dataset.poll, { headers: { Accept: "application/json" } }).catch(() => null);
      if (answer?.ok) this.take(await answer.json());
    }
  }

  get final() {
    return this.root.dataset.final === "yes";
  }

  /** A new fact: show the figure at once, and render anew when more than the figure changed. */
  take(fact) {
    const bar = this.root.querySelector("[data-progress]");
    if (bar && fact.state === "running") {
      bar.value = fact.progress ?? 0;
      this.root.querySelector("[data-progress-text]").textContent = `${fact.progress ?? 0} %`;
    }
    if (signature(fact) !== this.root.dataset.signature) this.refresh();
  }

  async refresh() {
    if (this.refreshing) {
      this.again = true;
      return;
    }
    this.refreshing = true;
    const answer = await fetch(location.href).catch(() => null);
    if (answer?.ok) this.replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
    await new Promise((resolve) => setTimeout(resolve, this.final ? 0 : AT_MOST_EVERY_MS));
    this.refreshing = false;
    if (this.again) {
      this.again = false;
      this.refresh();
    }
  }

  replace(page) {
    const fresh = page.querySelector("[data-live]");
    if (!fresh) return;
    const focused = this.root.contains(document.activeElement) ? document.activeElement.id : "";
    exchange(this.root, fresh);
    Object.assign(this.root.dataset, fresh.dataset);
    document.title = page.title;
    document.querySelector("[data-announce]").textContent = page.title.split(" · ")[0];
    tellTimes(this.root);
    if (focused) (document.getElementById(focused) ?? document.querySelector("main")).focus();
  }
}

/** Take over the fresh content; of a long table only the rows that differ, so that nobody loses their place. */
function exchange(root, fresh) {
  const rows = new Map([...root.querySelectorAll("[data-part]")].map((row) => [row.id, row]));
  for (const row of fresh.querySelectorAll("[data-part]")) {
    const old = rows.get(row.id);
    if (old && old.dataset.part === row.dataset.part) row.replaceWith(old);
  }
  root.replaceChildren(...fresh.childNodes);
}

function signature(fact) {
  if (fact.counts) return JSON.stringify(fact.counts);
  const waitsUntil = fact.state === "waiting" ? fact.due_at : "";
  return `${fact.state} ${fact.attempts} ${waitsUntil} ${"cancel" in fact.links}`.toLowerCase();
}
