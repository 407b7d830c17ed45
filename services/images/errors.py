"""What can be wrong with a picture. None of it gets better by trying again.

The messages say what would help, and never what the file held or was called.
"""

from services.errors import Permanent


class PictureRefused(Permanent):
    """The base of every refusal in this package."""

    code = "picture_refused"


class PictureEmpty(PictureRefused):
    """The file has no content."""

    code = "picture_empty"

    def __init__(self) -> None:
        super().__init__("The file is empty. Choose the picture again.")


class NotAPicture(PictureRefused):
    """The content is of no format we read, whatever the file is called."""

    code = "not_a_picture"

    def __init__(self) -> None:
        super().__init__(
            "The file is not a picture we can read. Send JPEG, PNG, WebP, GIF, AVIF, HEIC, TIFF or BMP."
        )


class PictureTooLarge(PictureRefused):
    """It would take more pixels or frames than one job may have."""

    code = "picture_too_large"

    def __init__(self, limit: str) -> None:
        super().__init__(f"The picture is too large: {limit}. Send a smaller one.")


class PictureBroken(PictureRefused):
    """It claims a format we read, and then breaks off or contradicts itself."""

    code = "picture_broken"

    def __init__(self) -> None:
        super().__init__("The picture is damaged or incomplete. Export or upload it again.")


class SideTooLong(PictureRefused):
    """The output format has no room for a side this long."""

    code = "picture_side_too_long"

    def __init__(self, form: str, limit: int) -> None:
        super().__init__(
            f"A {form} picture has at most {limit} pixels a side, and this one is longer at the width asked for. "
            "Choose a smaller width or another format."
        )
