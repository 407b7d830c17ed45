// Makes a drop zone with a list of a plain file input. The input stays the truth: its `files` are what is sent.

import { thumbnail } from "./thumbnail.js";

/** "84 KB", as the server writes sizes. */
export function fileSize(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  const [size, unit] = bytes < 1024 ** 2 ? [bytes / 1024, "KB"] : [bytes / 1024 ** 2, "MB"];
  return `${size.toFixed(size < 10 ? 1 : 0).replace(/\.0$/, "")} ${unit}`;
}

/** Turn `zone` ([data-drop]) into a drop zone. `kept` are files chosen before the form was sent in vain. */
export function makeDropzone(zone, kept = []) {
  const input = zone.querySelector("input[type=file]");
  const field = zone.closest(".field");
  const list = field.querySelector("[data-chosen]");
  const said = field.querySelector("[data-said]");
  const most = Number(zone.dataset.atMost);
  const largest = Number(zone.dataset.maxBytes);
  let chosen = [];

  function add(files) {
    const refused = [];
    for (const file of files) {
      if (file.size > largest) refused.push(`${file.name} has ${fileSize(file.size)}; the limit is ${fileSize(largest)}.`);
      else if (file.size === 0) refused.push(`${file.name} is empty.`);
      else if (chosen.length >= most) {
        refused.push(`Only ${most} files can be sent at once; the others were left out.`);
        break;
      } else if (!chosen.some((other) => same(other, file))) {
        chosen.push(file);
        list.append(row(file));
      }
    }
    settle(refused);
  }

  function row(file) {
    const item = document.createElement("li");
    if ("thumbnails" in zone.dataset) item.append(thumbnail(file));
    item.append(text("file-name", file.name), text("file-size", fileSize(file.size)), removal(file, item));
    item.querySelector(".file-name").title = file.name;
    return item;
  }

  function removal(file, item) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "×";
    button.setAttribute("aria-label", `Remove ${file.name}`);
    button.addEventListener("click", () => {
      const next = item.nextElementSibling ?? item.previousElementSibling;
      chosen = chosen.filter((other) => other !== file);
      item.remove();
      settle([]);
      (next?.querySelector("button") ?? input).focus();
    });
    return button;
  }

  function settle(refused) {
    const transfer = new DataTransfer();
    chosen.forEach((file) => transfer.items.add(file));
    input.files = transfer.files;
    const bytes = chosen.reduce((sum, file) => sum + file.size, 0);
    const count = `${chosen.length} ${chosen.length === 1 ? "file" : "files"}, ${fileSize(bytes)}`;
    said.textContent = [...refused.slice(0, 3), chosen.length ? count : ""].join(" ").trim();
    said.classList.toggle("refused", refused.length > 0);
  }

  zone.classList.add("ready");
  input.addEventListener("change", () => add([...input.files]));
  for (const type of ["dragenter", "dragover"]) {
    zone.addEventListener(type, (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
  }
  for (const type of ["dragleave", "drop"]) {
    zone.addEventListener(type, () => zone.classList.remove("over"));
  }
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    add([...event.dataTransfer.files]);
  });
  add(kept);
}

function same(one, other) {
  return one.name === other.name && one.size === other.size && one.lastModified === other.lastModified;
}

function text(name, content) {
  const span = document.createElement("span");
  span.className = name;
  span.textContent = content;
  return span;
}
