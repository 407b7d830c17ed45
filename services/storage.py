"""Files by key, on any fsspec filesystem (`STORAGE_URL`: a folder, s3://…, gs://…).

Keys are made here and never by a user, so no name that people type reaches a path.
"""

import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO, BinaryIO, cast
from urllib.parse import urlsplit

import fsspec
import uuid_utils
from fsspec.implementations.local import LocalFileSystem

from config.settings import ROOT, get_settings
from services.errors import Permanent, Transient

# A UUIDv7, which begins with its time. A process that was killed while it wrote leaves a `.partial`.
_KEY = re.compile(
    r"[0-9a-f]{2}/([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\.[a-z0-9]{1,5}(\.partial)?"
)
_FOLDER = re.compile(r"[0-9a-f]{2}")
_CHUNK = 1024 * 1024


class StorageUnavailable(Transient):
    """The disk is full or the object store does not answer."""

    code = "storage_unavailable"


class FileGone(Permanent):
    """No file lies under this key any more."""

    code = "file_gone"


@dataclass(frozen=True)
class Stored:
    """One file as it lies in storage. `size` in bytes, `sha256` as lower-case hex."""

    key: str
    size: int
    sha256: str


class Storage:
    """Whole files only: a reader sees a complete file or none."""

    def __init__(self, url: str) -> None:
        local = url if urlsplit(url).scheme else str(ROOT / url)
        self._files, self._root = fsspec.core.url_to_fs(local)

    def save(self, stream: IO[bytes], *, suffix: str) -> Stored:
        """Store what `stream` holds from its present position under a new key ending in `suffix`.

        Raises StorageUnavailable, and leaves nothing behind, when it cannot be written.
        """
        name = str(uuid_utils.uuid7())
        # The last two digits are random; the first ones of a UUIDv7 are the clock.
        key = f"{name[-2:]}/{name}.{suffix}"
        digest, size = hashlib.sha256(), 0
        try:
            with self._writing(key) as target:
                while chunk := stream.read(_CHUNK):
                    digest.update(chunk)
                    size += len(chunk)
                    target.write(chunk)
        except OSError as error:
            raise StorageUnavailable("the file could not be written") from error
        return Stored(key=key, size=size, sha256=digest.hexdigest())

    def open(self, key: str) -> BinaryIO:
        """Open for reading; raises FileGone when there is no such file."""
        try:
            return cast(BinaryIO, self._files.open(self._path(key), "rb"))
        except FileNotFoundError as error:
            raise FileGone("the file is no longer stored") from error
        except OSError as error:
            raise StorageUnavailable("the file could not be read") from error

    def delete(self, key: str) -> None:
        """Remove the file; one that is already gone is fine."""
        path = self._path(key)
        if self._files.exists(path):
            self._files.rm(path)

    def stored_before(self, age: timedelta) -> Iterator[list[str]]:
        """The keys of all files that were stored longer than `age` ago, a folder at a time.

        One listing for each folder that exists (at most 256), and no look at any single file: a key tells its
        time. Raises StorageUnavailable.
        """
        latest_ms = (time.time() - age.total_seconds()) * 1000
        self._files.invalidate_cache()
        try:
            for folder in self._files.ls(self._root, detail=False):
                if _FOLDER.fullmatch(name := folder.rpartition("/")[2]):
                    paths = self._files.ls(folder, detail=False)
                    keys = (f"{name}/{path.rpartition('/')[2]}" for path in paths)
                    yield [key for key in keys if (ms := _written_ms(key)) is not None and ms <= latest_ms]
        except FileNotFoundError:
            # Nothing has been stored yet.
            return
        except OSError as error:
            raise StorageUnavailable("the files could not be listed") from error

    def _path(self, key: str) -> str:
        if not _KEY.fullmatch(key):
            raise FileGone("not a key of this storage")
        return f"{self._root}/{key}"

    @contextmanager
    def _writing(self, key: str) -> Iterator[IO[bytes]]:
        """Object stores publish a file when it is closed; a folder needs a temporary name and a rename."""
        path = self._path(key)
        if not isinstance(self._files, LocalFileSystem):
            target = self._files.open(path, "wb", autocommit=False)
            try:
                with target:
                    yield target
            except BaseException:
                target.discard()
                raise
            target.commit()
            return
        final, partial = Path(path), Path(f"{path}.partial")
        final.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("xb") as target:
                yield target
                target.flush()
                # The row that names this file is committed next; a power cut must not leave it without the file.
                os.fsync(target.fileno())
            partial.replace(final)
        finally:
            partial.unlink(missing_ok=True)


def _written_ms(key: str) -> int | None:
    """When the file was stored, in milliseconds since 1970; None for what is no key."""
    match = _KEY.fullmatch(key)
    return int(match[1] + match[2], 16) if match else None


def storage() -> Storage:
    """The configured storage."""
    return Storage(get_settings().storage_url)
