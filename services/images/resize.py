"""A picture in, its renditions out: smaller, upright, in sRGB, and without any metadata."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

from PIL import Image
from PIL.ImageFile import ImageFile

from services.images.encode import encode
from services.images.errors import SideTooLong
from services.images.formats import WRITABLE, Readable
from services.images.frames import Frame, Size, decode, decode_all
from services.images.inspect import inspect
from services.images.options import OutputFormat, ResizeOptions
from services.images.source import open_picture, orientation


@dataclass(frozen=True)
class Rendition:
    """One produced file, in memory. `frames` is what it holds; `note` says what was left out of it, if anything."""

    width: int
    height: int
    format: OutputFormat
    media_type: str
    data: bytes
    frames: int = 1
    note: str | None = None


def resize(stream: BinaryIO, options: ResizeOptions) -> Iterator[Rendition]:
    """Yield one rendition per wanted width, widest first, each made from the one before it.

    Nothing is enlarged: widths at or beyond the picture's own give one rendition of its own width. An animation
    stays one in WebP; elsewhere its first frame is taken, as is the first page of a TIFF, and the note says so.
    The picture is decoded once and in full before the first rendition, so a broken one yields none.
    Raises what `inspect` raises, and SideTooLong.
    """
    picture = inspect(stream)
    source, form, count = open_picture(stream)
    target = WRITABLE[options.format]
    sizes = _sizes((picture.width, picture.height), options.widths)
    if any(max(size) > target.max_side for size in sizes):
        raise SideTooLong(options.format, target.max_side)
    moving = form.animated and count > 1 and options.format == "webp"
    frames = _decode(source, sizes[0], count if moving else 1)
    loop, note = _loop(source), _note(form, count, moving)
    source.close()
    for size in sizes:
        frames = [_smaller(frame, size) for frame in frames]
        data = encode(frames, options.format, options.quality, loop)
        yield Rendition(*size, options.format, target.media_type, data, len(frames), note)


def _sizes(own: Size, widths: tuple[int, ...]) -> list[Size]:
    """Widest first, each once; a side is never less than one pixel."""
    width, height = own
    wanted = sorted({min(width, each) for each in widths}, reverse=True)
    return [(each, max(1, round(height * each / width))) for each in wanted]


def _decode(source: ImageFile, size: Size, count: int) -> list[Frame]:
    turn = orientation(source)
    return decode_all(source, size, turn, count) if count > 1 else [decode(source, size, turn)]


def _smaller(frame: Frame, size: Size) -> Frame:
    # Pillow premultiplies RGBA for the resize by itself.
    if frame.image.size == size:
        return frame
    return replace(frame, image=frame.image.resize(size, Image.Resampling.LANCZOS))


def _loop(source: ImageFile) -> int:
    # A GIF that does not say plays once.
    return int(source.info.get("loop", 1 if source.format == "GIF" else 0))


def _note(form: Readable, count: int, moving: bool) -> str | None:
    return None if moving or count == 1 else f"first of {count} {form.several}"
