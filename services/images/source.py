"""Opening a picture: by content, within our limits, with Pillow's many errors turned into ours."""

import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import BinaryIO

import pillow_heif
from PIL import Image, UnidentifiedImageError
from PIL.ExifTags import Base
from PIL.ImageFile import ImageFile

from services.images.errors import NotAPicture, PictureBroken, PictureEmpty, PictureTooLarge
from services.images.formats import MAX_FRAMES, READABLE, Readable
from services.images.gif import count_gif_frames

# What Pillow's plugins raise on broken content. Named one by one, because the soft time limit of a job also arrives
# as an exception in the middle of a decode and has to get through.
_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    RuntimeError,
    struct.error,
    zlib.error,
)


@contextmanager
def reading() -> Iterator[None]:
    """Put around every call that makes Pillow read the file, and around nothing else."""
    try:
        yield
    except UnidentifiedImageError as error:
        raise NotAPicture from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise PictureTooLarge("its header claims more pixels than we decode") from error
    except _BROKEN as error:
        raise PictureBroken from error


def open_picture(stream: BinaryIO) -> tuple[ImageFile, Readable, int]:
    """Read the header only: the picture not yet decoded, its format, and its number of frames or pages.

    Raises PictureEmpty, NotAPicture, PictureTooLarge or PictureBroken. An OSError is the stream's own: the content
    is read here in full, so that a failing disk or store is never taken for a broken picture.
    """
    stream.seek(0)
    data = stream.read()
    if not data.strip():
        raise PictureEmpty
    _prepare()
    with reading():
        # "MPO" is no opener of its own: Pillow finds it in a JPEG.
        image = Image.open(BytesIO(data), formats=[name for name in READABLE if name != "MPO"])
    form = READABLE[image.format or ""]
    _check_pixels(image, form, 1)
    with reading():
        _check_end(image, data)
        frames = _count(image, data)
    if frames > MAX_FRAMES:
        raise PictureTooLarge(f"at most {MAX_FRAMES} {form.several} are read")
    if form.animated:
        _check_pixels(image, form, frames)
    return image, form, frames


def orientation(image: ImageFile) -> int:
    """How the camera was held, as EXIF says it (1..8); 1 when it says nothing that makes sense.

    Pillow turns a TIFF by itself, and libheif a HEIF by its own boxes, beside which EXIF has no say. Of a PNG only the header counts: to look behind the pixels, where the tag may also
    stand, Pillow decodes them.
    """
    if image.format == "TIFF" or (image.format == "PNG" and "exif" not in image.info):
        return 1
    try:
        with reading():
            value = image.getexif().get(Base.Orientation, 1)
    except PictureBroken:
        return 1
    return value if value in range(1, 9) else 1


def _prepare() -> None:
    """Set Pillow up on use, not at import. Repeating it changes nothing.

    Pillow only warns between one and two times its own limit; the warning counts as an error. Its warnings about
    odd metadata are of no use to anybody, since metadata never leaves this package.
    """
    # An embedded thumbnail would be taken for the picture; decoder threads multiply by the worker's processes.
    pillow_heif.register_heif_opener(thumbnails=False, decode_threads=1)
    Image.MAX_IMAGE_PIXELS = max(form.max_pixels for form in READABLE.values())
    warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")
    warnings.filterwarnings("error", category=Image.DecompressionBombWarning)


def _check_pixels(image: ImageFile, form: Readable, frames: int) -> None:
    if image.width * image.height * frames > form.max_pixels:
        megapixels = form.max_pixels // 1_000_000
        raise PictureTooLarge(f"at most {megapixels} megapixels are read, all frames together")


def _check_end(image: ImageFile, data: bytes) -> None:
    """A JPEG that breaks off opens and verifies; without its end marker (FFD9) the full decode will refuse it.

    Searched from where the header ends, since a preview inside the header has an end marker too; what follows the
    marker, such as a phone's motion clip, is nobody's business.
    """
    if image.format == "JPEG" and image.fp and data.find(b"\xff\xd9", image.fp.tell()) < 0:
        raise PictureBroken


def _count(image: ImageFile, data: bytes) -> int:
    """Frames or pages, counted no further than one past the limit."""
    if image.format == "GIF":
        return count_gif_frames(data, MAX_FRAMES + 1)
    if image.format == "TIFF":
        return _count_pages(image)
    return 1 if image.format == "MPO" else int(getattr(image, "n_frames", 1))


def _count_pages(image: ImageFile) -> int:
    """Walk the chain of pages: Pillow's own count has no end but the file's, and its cost grows with the square."""
    pages = 1
    try:
        while pages <= MAX_FRAMES:
            image.seek(pages)
            pages += 1
    except EOFError:
        pass
    image.seek(0)
    return pages
