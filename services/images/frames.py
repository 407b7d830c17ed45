"""Decoding: the frames of a picture, upright, in sRGB, and already as small as the largest rendition."""

from dataclasses import dataclass

from PIL import Image
from PIL.ImageFile import ImageFile

from services.images.colour import depth_scale, to_srgb, workable
from services.images.errors import PictureBroken
from services.images.source import reading

Size = tuple[int, int]

_BAND_PIXELS = 2_000_000

# What brings a picture upright, by EXIF orientation.
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


@dataclass(frozen=True)
class Frame:
    """One decoded frame, mode L, RGB or RGBA; `duration` in milliseconds, 0 in a still picture."""

    image: Image.Image
    duration: int


def decode(source: ImageFile, size: Size, turn: int) -> Frame:
    """The frame `source` stands at, in `size` as seen upright. `turn` is its EXIF orientation.

    Raises PictureBroken when the content breaks off.
    """
    stored = (size[1], size[0]) if turn >= 5 else size
    canvas = source.size
    with reading():
        if source.format in ("JPEG", "MPO"):
            # The JPEG decoder halves the picture for almost nothing. Half as much again as needed keeps the edges
            # as sharp as a full decode would.
            source.draft(None, (stored[0] * 3 // 2, stored[1] * 3 // 2))
            canvas = source.size
        source.load()
    return Frame(_finish(source, canvas, stored, turn), round(source.info.get("duration") or 0))


def decode_all(source: ImageFile, size: Size, turn: int, frames: int) -> list[Frame]:
    """Every frame of an animation, composed, in `size`. Raises PictureBroken.

    The canvas is that of the first frame; Pillow lets a GIF grow it later, browsers do not.
    """
    stored = (size[1], size[0]) if turn >= 5 else size
    canvas, decoded = source.size, []
    # The picture for readers that know no animation; it is not part of it.
    first = 1 if getattr(source, "default_image", False) else 0
    for index in range(first, frames):
        with reading():
            source.seek(index)
            source.load()
        image = _finish(source, canvas, stored, turn)
        decoded.append(Frame(image, round(source.info.get("duration") or 0)))
    return decoded


def _finish(source: ImageFile, canvas: Size, stored: Size, turn: int) -> Image.Image:
    small = _shrink(source if source.size == canvas else source.crop((0, 0, *canvas)), stored)
    upright = small.transpose(_TURNS[turn]) if turn in _TURNS else small
    return to_srgb(upright, source.info.get("icc_profile"))


def _shrink(image: Image.Image, size: Size) -> Image.Image:
    """First by whole numbers, band by band, to no less than twice `size`; the rest with a good filter.

    Memory stays at one decoded copy: a converted copy of the whole would double it.
    """
    scale = depth_scale(image)
    across, down = (max(1, whole // (wanted * 2)) for whole, wanted in zip(image.size, size, strict=True))
    if across == down == 1:
        return workable(image, scale).resize(size, Image.Resampling.LANCZOS)
    reduced: Image.Image | None = None
    rows = down * max(1, _BAND_PIXELS // (image.width * down))
    for top in range(0, image.height, rows):
        band = workable(image.crop((0, top, image.width, min(top + rows, image.height))), scale)
        band = band.reduce((across, down))
        if reduced is None:
            reduced = Image.new(band.mode, (-(-image.width // across), -(-image.height // down)))
        reduced.paste(band, (0, top // down))
    if reduced is None:
        raise PictureBroken
    exact = (0.0, 0.0, image.width / across, image.height / down)
    return reduced.resize(size, Image.Resampling.LANCZOS, box=exact)
