"""From whatever a file holds to 8-bit sRGB: depth, transparency, profiles.

Two steps. `workable` changes only what cannot be averaged as it is, and is run on small bands, because a second
copy of a large picture is what fills the memory. `to_srgb` runs on the shrunken picture.
"""

import math
from io import BytesIO

from PIL import Image, ImageCms

from services.images.errors import PictureBroken

_DEEP = ("I", "I;16", "I;16B", "I;16L", "I;16N", "F")
# CMYK waits for its profile, which describes inks.
_AVERAGED_AS_THEY_ARE = ("L", "RGB", "RGBa", "CMYK")


def depth_scale(image: Image.Image) -> tuple[float, float]:
    """The factor and offset that bring a picture of more than 8 bits to 0..255.

    0..65535 is read as 16 bits (divided by 257), floats within 0..1 as they are meant; any other range is
    stretched from its smallest to its largest value. Raises PictureBroken for values that are not numbers.
    """
    if image.mode not in _DEEP:
        return 1.0, 0.0
    low, high = _extrema(image) if image.mode in ("I", "F") else (0, 65_535)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise PictureBroken
    if image.mode == "F" and low >= 0 and high <= 1:
        return 255.0, 0.0
    if image.mode != "F" and low >= 0 and high <= 65_535:
        return 1 / 257, 0.5
    factor = 255 / ((high - low) or 1)
    return factor, -low * factor


def workable(band: Image.Image, scale: tuple[float, float]) -> Image.Image:
    """Part of a picture in a mode whose neighbours may be averaged; transparency premultiplied (mode RGBa).

    Without premultiplying, the colour hidden under transparent pixels shows as a fringe.
    """
    if band.mode in _DEEP:
        wide = band if band.mode in ("I", "F") else band.convert("I")
        factor, offset = scale
        return wide.point(lambda value: value * factor + offset).convert("L")
    if band.mode == "LAB":
        return _by_profile(
            band, ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")), "RGB"
        ) or band.convert("RGB")
    if band.has_transparency_data and band.mode not in ("RGBa", "CMYK"):
        return band.convert("RGBA").convert("RGBa")
    if band.mode in _AVERAGED_AS_THEY_ARE:
        return band
    return band.convert("L" if band.mode == "1" else "RGB")


def to_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """A grey (L), opaque (RGB) or transparent (RGBA) picture in sRGB, without any metadata.

    A profile that cannot be read, or that is for another kind of picture, is ignored.
    """
    straight = image.convert("RGBA") if image.mode == "RGBa" else image
    mode = straight.mode if straight.mode in ("L", "RGBA") else "RGB"
    converted = _embedded(straight, profile, "RGBA" if mode == "RGBA" else "RGB") or straight
    plain = converted if converted.mode == mode else converted.convert(mode)
    plain.info = {}
    return plain


def _embedded(image: Image.Image, profile: bytes | None, mode: str) -> Image.Image | None:
    if not profile:
        return None
    try:
        return _by_profile(image, ImageCms.ImageCmsProfile(BytesIO(profile)), mode)
    except OSError:
        return None


def _by_profile(image: Image.Image, profile: ImageCms.ImageCmsProfile, mode: str) -> Image.Image | None:
    try:
        return ImageCms.profileToProfile(
            image,
            profile,
            ImageCms.createProfile("sRGB"),
            renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC,
            outputMode=mode,
            flags=ImageCms.Flags.BLACKPOINTCOMPENSATION,
        )
    except ImageCms.PyCMSError:
        return None


def _extrema(image: Image.Image) -> tuple[float, float]:
    low, high = image.getextrema()
    if isinstance(low, tuple) or isinstance(high, tuple):  # only for pictures of several channels
        raise PictureBroken
    return low, high
