"""The look at the door: is this a picture we would work on? Cheap enough for a request."""

from dataclasses import dataclass
from typing import BinaryIO

from services.images.source import open_picture, orientation, reading


@dataclass(frozen=True)
class Picture:
    """What an accepted file is, by its content. `width` and `height` in pixels, as it is shown upright.

    `frames` counts the frames of an animation, the pages of a TIFF or the pictures of a HEIF; 1 otherwise.
    """

    format: str
    media_type: str
    width: int
    height: int
    frames: int


def inspect(stream: BinaryIO) -> Picture:
    """Look at header and checksums, decoding no pixel; leaves `stream` at its start.

    Raises PictureEmpty, NotAPicture, PictureTooLarge or PictureBroken. Damage that only a full decode finds is
    raised by `resize`, with the same errors.
    """
    try:
        image, form, frames = open_picture(stream)
    finally:
        stream.seek(0)
    turned = orientation(image) >= 5
    width, height = (image.height, image.width) if turned else image.size
    with reading():
        image.verify()
    return Picture(form.name, form.media_type, width, height, frames)
