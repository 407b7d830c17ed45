"""Zip packages (DOCX) opened with distrust: sizes checked before and while inflating, nothing written to disk."""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from services.documents.errors import DocumentBroken, DocumentTooLarge, PasswordProtected

# A 300-page DOCX with pictures stays far below each of these.
_MOST_MEMBERS = 2_000
_MOST_DIRECTORY_BYTES = 1024 * 1024
_MOST_DECLARED_BYTES = 150 * 1024 * 1024
_MOST_PART_BYTES = 64 * 1024 * 1024
# Word's own XML compresses 10 to 30 times, a bomb about 1,000 times.
_MOST_RATIO = 150
_RATIO_MATTERS_FROM = 1024 * 1024
_CHUNK = 64 * 1024
_END = b"PK\x05\x06"


def open_package(stream: BinaryIO) -> zipfile.ZipFile:
    """Open and check the declared sizes. Raises DocumentBroken, DocumentTooLarge or PasswordProtected."""
    _check_directory(stream)
    try:
        package = zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        # NotImplementedError is zipfile's word for a version or a compression that it does not know.
        raise DocumentBroken("the package is damaged or cut") from error
    members = package.infolist()
    if any(member.flag_bits & 0x1 for member in members):
        raise PasswordProtected("the package is encrypted")
    if len(members) > _MOST_MEMBERS or sum(member.file_size for member in members) > _MOST_DECLARED_BYTES:
        raise DocumentTooLarge("the package unpacks to more than is read")
    if any(
        member.file_size > max(_RATIO_MATTERS_FROM, _MOST_RATIO * member.compress_size) for member in members
    ):
        raise DocumentTooLarge("the package is compressed far beyond what documents are")
    return package


def inflate(package: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """The part in chunks of 64 kB, so that a declared size that lies stops at the real limit.

    Raises DocumentBroken when it is missing or damaged, DocumentTooLarge over 64 MB.
    """
    size = 0
    try:
        with package.open(name) as part:
            while chunk := part.read(_CHUNK):
                size += len(chunk)
                if size > _MOST_PART_BYTES:
                    raise DocumentTooLarge("a part of the package unpacks to more than is read")
                yield chunk
    except KeyError as error:
        raise DocumentBroken("a part of the package is missing") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        # NotImplementedError as above.
        raise DocumentBroken("a part of the package is damaged") from error


def _check_directory(stream: BinaryIO) -> None:
    """Bound the list of members by its bytes, before zipfile builds an object for each (APPNOTE 4.3.16)."""
    size = stream.seek(0, 2)
    stream.seek(max(0, size - 65_557))
    tail = stream.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        raise DocumentBroken("the package is cut")
    (directory_bytes,) = struct.unpack_from("<I", tail, at + 12)
    if directory_bytes > _MOST_DIRECTORY_BYTES:
        raise DocumentTooLarge("the package has more members than is read")
    stream.seek(0)
