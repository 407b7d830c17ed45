"""Uploaded files: counted, measured and hashed at the door, then kept in storage until their rows are committed."""

import hashlib
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from werkzeug.datastructures import FileStorage

from app.intake.refusals import Refused
from app.intake.submissions import CommitUnknown
from config.settings import get_settings
from services.storage import Stored, storage

_CHUNK = 1024 * 1024
_NAME_LENGTH = 255
# Controls, bidirectional overrides, surrogates, private use, line and paragraph separators.
_UNPRINTABLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@dataclass(frozen=True)
class Upload:
    """One received file: `stream` is seekable and at its start, `size` in bytes, `name` fit to be shown."""

    stream: IO[bytes]
    name: str
    size: int
    sha256: str


def receive(files: Sequence[FileStorage], *, field: str, at_most: int) -> list[Upload]:
    """The files of one form field, in order.

    Raises Refused when there is none, one is empty or larger than `MAX_UPLOAD_BYTES`, or there are too many.
    """
    # A form whose file field was left empty still sends a part, without name and content.
    chosen = [file for file in files if file.filename or file.stream.read(1)]
    if not chosen:
        raise Refused("missing_file", "Choose a file.", field=field)
    if len(chosen) > at_most:
        what = "one file" if at_most == 1 else f"{at_most} files"
        raise Refused("too_many_files", f"Send at most {what} at once.", status=413, field=field)
    return [
        _measure(file, field, "The file" if len(chosen) == 1 else f"File {number}")
        for number, file in enumerate(chosen, 1)
    ]


@contextmanager
def shelve(uploads: Sequence[Upload], suffixes: Sequence[str]) -> Iterator[list[Stored]]:
    """The uploads in storage, each under its suffix; removed again when the block fails.

    They stay when nobody knows whether the transaction that names them was committed.
    """
    stored: list[Stored] = []
    try:
        for upload, suffix in zip(uploads, suffixes, strict=True):
            upload.stream.seek(0)
            stored.append(storage().save(upload.stream, suffix=suffix))
        yield stored
    except CommitUnknown:
        raise
    except BaseException:
        unshelve(stored)
        raise


def unshelve(stored: Sequence[Stored]) -> None:
    """Remove files that no row names."""
    for file in stored:
        storage().delete(file.key)


def shown_name(name: str) -> str:
    """The last part of the name as somebody's computer had it, without signs that could not be seen."""
    last = name.replace("\\", "/").rpartition("/")[2]
    visible = "".join(sign for sign in last if unicodedata.category(sign) not in _UNPRINTABLE).strip()
    # The end is what tells files apart, and it carries the extension.
    return visible[-_NAME_LENGTH:] or "file"


def _measure(file: FileStorage, field: str, called: str) -> Upload:
    limit = get_settings().max_upload_bytes
    stream, digest, size = file.stream, hashlib.sha256(), 0
    stream.seek(0)
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
        size += len(chunk)
    stream.seek(0)
    if size == 0:
        raise Refused("empty_file", f"{called} is empty.", field=field)
    if size > limit:
        raise too_large(limit, field=field, called=called)
    return Upload(stream, shown_name(file.filename or ""), size, digest.hexdigest())


def too_large(limit: int, *, field: str | None = None, called: str = "A file") -> Refused:
    """The refusal of a file of more than `limit` bytes."""
    return Refused("file_too_large", f"{called} is larger than {readable(limit)}.", status=413, field=field)


def readable(size: int) -> str:
    """`26214400` → "25 MB"."""
    for unit, factor in (("MB", 1024 * 1024), ("KB", 1024)):
        if size >= factor:
            return f"{size / factor:.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} bytes"
