// Sends forms with files so that their progress shows. The server's answer is the same page as by a plain post.

import { fileSize, makeDropzone } from "./dropzone.js";

/** Make drop zones below `root` and send its upload forms from here. `kept` maps input names to chosen files. */
export function startUploads(root, kept = {}) {
  for (const zone of root.querySelectorAll("[data-drop]")) {
    makeDropzone(zone, kept[zone.querySelector("input").id]);
  }
  for (const form of root.querySelectorAll("form[data-upload]")) {
    form.addEventListener("submit", (event) => {
      // A sample is on the server already.
      if (event.submitter?.name === "sample") return;
      event.preventDefault();
      send(form);
    });
  }
}

function send(form) {
  const request = new XMLHttpRequest();
  const progress = form.querySelector("[data-upload-progress]");
  const button = form.querySelector(".actions .button");
  const leave = (text) => {
    progress.querySelector("p").textContent = text;
    button.disabled = false;
  };

  request.upload.addEventListener("progress", (event) => {
    const percent = Math.floor((100 * event.loaded) / event.total);
    progress.querySelector("progress").value = percent;
    progress.querySelector("p").textContent =
      percent < 100 ? `${percent} % of ${fileSize(event.total)} sent` : "Sent. The server looks at it …";
  });
  request.addEventListener("load", () => {
    if (request.status < 400) location.assign(request.responseURL);
    else leave(show(request.responseText));
  });
  request.addEventListener("error", () => leave("The connection broke off. Nothing was stored; please try again."));
  request.addEventListener("abort", () => leave("The upload was stopped."));

  progress.hidden = false;
  button.disabled = true;
  request.open("POST", form.action);
  request.send(new FormData(form));
}

/**
 * Put the form that came back with faults in place of this page, with the chosen files. An answer without a form
 * (too large, too busy) leaves this page as it is; its message is returned.
 */
function show(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const fresh = page.querySelector("main");
  if (!fresh?.querySelector("[data-upload]")) {
    const message = page.querySelector("[data-message]")?.textContent;
    return message ?? "The server could not take it. Nothing was stored; please try again later.";
  }
  const kept = {};
  for (const input of document.querySelectorAll("input[type=file]")) kept[input.id] = [...input.files];
  fresh.querySelector("[data-files-lost]")?.remove();
  fresh.querySelector("#summary").removeAttribute("autofocus");
  document.title = page.title;
  document.querySelector("main").replaceWith(fresh);
  startUploads(fresh, kept);
  fresh.querySelector("#summary").focus();
  return "";
}
