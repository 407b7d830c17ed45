"""One picture, made in several widths."""

from pathlib import PurePath
from typing import Any

from db.models import StoredFile
from services.images.options import ResizeOptions
from services.images.resize import Rendition, resize
from services.storage import storage
from tasks.engine import Id, Payload, Run, job
from tasks.files import keep, load_file


class PictureRef(Payload):
    """The uploaded picture and what to make of it."""

    file_id: Id
    options: ResizeOptions


@job(
    queue="images",
    payload=PictureRef,
    max_retries=4,
    retry_backoff=5,
    time_limit=300,
    owner="media",
)
def resize_image(ref: PictureRef, run: Run) -> dict[str, Any]:
    """Make the renditions. Safe to run twice: what an interrupted start stored is never referred to."""
    source = load_file(run, ref.file_id)
    renditions = []
    with storage().open(source.storage_key) as stream:
        for rendition in resize(stream, ref.options):
            name = f"{PurePath(source.name).stem}-{rendition.width}.{rendition.format}"
            file = keep(
                run, rendition.data, name=name, media_type=rendition.media_type, suffix=rendition.format
            )
            renditions.append(_figures(file, rendition))
            run.checkpoint(100 * len(renditions) // (len(ref.options.widths) + 1))
    return {"original": {"file_id": source.id, "bytes": source.size}, "renditions": renditions}


def _figures(file: StoredFile, rendition: Rendition) -> dict[str, Any]:
    return {
        "file_id": file.id,
        "width": rendition.width,
        "height": rendition.height,
        "bytes": file.size,
        "media_type": file.media_type,
        "note": rendition.note,
    }
