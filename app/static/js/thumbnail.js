// A small preview, drawn by the browser from the file itself. Nothing leaves the page.

const SIDE = 88; // shown at 44 px, sharp on dense screens

/** A canvas that shows the picture as soon as it is decoded, or the file's kind when the browser cannot read it. */
export function thumbnail(file) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIDE;
  canvas.setAttribute("aria-hidden", "true");
  draw(file, canvas).catch(() => write(kind(file.name), canvas));
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

function write(text, canvas) {
  const pen = canvas.getContext("2d");
  pen.font = "600 22px system-ui, sans-serif";
  pen.fillStyle = getComputedStyle(canvas).color;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(text, SIDE / 2, SIDE / 2, SIDE - 12);
}

/** "HEIC" for photo.heic; "?" without an extension. */
function kind(name) {
  return /\.([a-z0-9]{1,4})$/i.exec(name)?.[1].toUpperCase() ?? "?";
}
