"""The formats we read and write, and how large a picture may be in each.

Pillow would try every plugin it has, EPS (which starts Ghostscript) among them; we name the ones we mean.
"""

from dataclasses import dataclass

from services.images.options import OutputFormat

MAX_FRAMES = 1_000
"""Frames of an animation, or pages of a TIFF."""


@dataclass(frozen=True)
class Readable:
    """A format we accept.

    `max_pixels` is for all frames together, and follows what the decoder takes in memory per pixel.
    `several` is what the format calls its pictures when it holds more than one.
    """

    name: str
    media_type: str
    max_pixels: int = 50_000_000
    several: str = "frames"
    animated: bool = False


# By Pillow's name. 50 megapixels let the picture of a 48-megapixel phone in. Peak memory of a process that makes the
# three default widths of one picture at its limit (Pillow 13.0, pillow-heif 1.8; 48 MB without a picture):
#   JPEG 117 MB, progressive JPEG 235 MB, GIF 167 MB, PNG 306 MB, TIFF 354 MB, HEIF 387 MB.
# libwebp and libavif hold several copies of a picture (16 and 9 bytes a pixel), so their limits are lower:
#   WebP 343 MB, AVIF 353 MB.
# A rendition as large as the picture itself costs more: 7000x7000 pixels with transparency took 1.2 GB.
READABLE = {
    "JPEG": Readable("jpeg", "image/jpeg"),
    # A phone's JPEG with a second picture behind the first; we take the first.
    "MPO": Readable("jpeg", "image/jpeg"),
    "PNG": Readable("png", "image/png", animated=True),
    "WEBP": Readable("webp", "image/webp", max_pixels=20_000_000, animated=True),
    "GIF": Readable("gif", "image/gif", animated=True),
    "AVIF": Readable("avif", "image/avif", max_pixels=36_000_000, animated=True),
    "HEIF": Readable("heif", "image/heif", several="pictures"),
    "TIFF": Readable("tiff", "image/tiff", several="pages"),
    "BMP": Readable("bmp", "image/bmp"),
}


@dataclass(frozen=True)
class Writable:
    """A format we produce. `max_side` in pixels: what the format, or the decoders in browsers, can hold."""

    media_type: str
    max_side: int


WRITABLE: dict[OutputFormat, Writable] = {
    "webp": Writable("image/webp", 16_383),
    "avif": Writable("image/avif", 32_768),
    "jpeg": Writable("image/jpeg", 65_500),
    "png": Writable("image/png", 1_000_000),
}
