"""Stored files, looked up by id in their table and never by a path."""

from typing import BinaryIO

from app.reading.visible import NotFound, visible
from app.security import Viewer
from db.engine import reading
from db.models import StoredFile
from services.images.formats import WRITABLE
from services.storage import FileGone, storage

# What our own encoders wrote. Everything else, uploads above all, may be anything to a browser.
_SAFE_TO_SHOW = {form.media_type for form in WRITABLE.values()}


def find_file(file_id: str, viewer: Viewer) -> StoredFile:
    """The file's row. Raises NotFound for an unknown, malformed or somebody else's id."""
    with reading() as session:
        return visible(session, StoredFile, file_id, viewer)


def open_file(file: StoredFile) -> BinaryIO:
    """Its content. Raises NotFound when storage no longer has it."""
    try:
        return storage().open(file.storage_key)
    except FileGone:
        raise NotFound from None


def may_be_shown(file: StoredFile) -> bool:
    """Whether a browser may show it in place: a picture that a job of ours made."""
    return file.job_id is not None and file.media_type in _SAFE_TO_SHOW
