"""Pictures to be made smaller."""

from collections.abc import Sequence
from typing import BinaryIO, cast

from pydantic import ValidationError

from app.intake.files import submit_files
from app.intake.refusals import Refused, refuse_fields, refuse_invalid
from app.intake.submissions import Submission
from app.intake.uploads import Upload
from db.models import StoredFile
from services.images.errors import PictureRefused
from services.images.inspect import Picture, inspect
from services.images.options import ResizeOptions, parse_widths
from tasks.engine import JobHandle, UnitOfWork
from tasks.images import PictureRef, resize_image


def resize_images(
    uploads: Sequence[Upload], options: ResizeOptions, *, created_by: str, key: str | None = None
) -> Submission:
    """One picture: a job. Several: a batch. Raises Refused when one of them is no picture we work on."""
    pictures = [
        _inspect(upload, "" if len(uploads) == 1 else f"File {number}: ")
        for number, upload in enumerate(uploads, 1)
    ]

    def enqueue(work: UnitOfWork, files: list[StoredFile]) -> list[JobHandle]:
        refs = [PictureRef(file_id=file.id, options=options) for file in files]
        if len(refs) == 1:
            return [work.enqueue(resize_image, refs[0])]
        return work.enqueue_batch("images", [(resize_image, ref) for ref in refs])

    return submit_files(
        uploads,
        [(picture.media_type, picture.format) for picture in pictures],
        enqueue,
        job=resize_image,
        created_by=created_by,
        key=key,
        content={"kind": "images", **options.model_dump(mode="json")},
    )


def resize_options(widths: str | None, form: str | None, quality: str | None) -> ResizeOptions:
    """What a form or a query says, with the defaults for what it leaves out. Raises Refused."""
    given: dict[str, object] = {"format": form or None, "quality": quality or None}
    try:
        given["widths"] = parse_widths(widths) if widths else None
    except ValueError as error:
        raise refuse_fields("options_invalid", {"widths": str(error)}) from None
    try:
        return ResizeOptions.model_validate(
            {name: value for name, value in given.items() if value is not None}
        )
    except ValidationError as error:
        raise refuse_invalid("options_invalid", error) from None


def _inspect(upload: Upload, called: str) -> Picture:
    try:
        return inspect(cast(BinaryIO, upload.stream))
    except PictureRefused as error:
        raise Refused(error.code, f"{called}{error}", field="file") from None
