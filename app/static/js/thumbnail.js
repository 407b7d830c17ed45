// A small preview, drawn by the browser from the file itself. Nothing leaves the page.

const SIDE = 88; // shown at 44 px, sharp on dense screens

/** A canvas that shows the picture as soon as it is decoded; it stays plain for kinds the browser cannot read. */
export function thumbnail(file) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIDE;
  canvas.setAttribute("aria-hidden", "true");
  draw(file, canvas).catch(() => canvas.classList.add("unreadable"));
  return canvas;
}

async function draw(file, canvas) {
  const picture = await createImageBitmap(file);
  const side = Math.min(picture.width, picture.height);
  const [left, top] = [(picture.width - side) / 2, (picture.height - side) / 2];
  const pen = canvas.getContext("2d");
  pen.imageSmoothingQuality = "high";
  pen.drawImage(picture, left, top, side, side, 0, 0, SIDE, SIDE);
  picture.close();
}
