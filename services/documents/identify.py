"""The check at the door: what a file is, by its content, and whether it can be read at all."""

from pathlib import PurePath
from typing import BinaryIO

from config.settings import get_settings
from services.documents.errors import (
    DocumentTooLarge,
    NothingToRead,
    PasswordProtected,
    UnsupportedDocument,
)
from services.documents.package import open_package
from services.documents.text import looks_binary

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
RTF = "application/rtf"
HTML = "text/html"
CSV = "text/csv"
MARKDOWN = "text/markdown"
PLAIN = "text/plain"

_TEXT_KINDS = {".csv": CSV, ".md": MARKDOWN, ".markdown": MARKDOWN, ".htm": HTML, ".html": HTML}
# Text under one of these names is some other file saved by mistake: a login page, an error message.
_NEVER_TEXT = {".pdf", ".doc", ".docx", ".docm", ".rtf", ".xls", ".xlsx", ".ppt", ".pptx", ".odt", ".zip"}
_HEAD = 8 * 1024
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_OLE_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


def identify(stream: BinaryIO, name: str) -> str:
    """The media type, by content; `name` only tells kinds of text apart. The stream is left at its start.

    Cheap enough for a web request. Raises NothingToRead for an empty file, DocumentTooLarge over
    `MAX_UPLOAD_BYTES` or for a package that unpacks to too much, PasswordProtected for encrypted Office files,
    DocumentBroken for a cut package, UnsupportedDocument for everything that is not read.
    """
    size = stream.seek(0, 2)
    limit = get_settings().max_upload_bytes
    if size > limit:
        raise DocumentTooLarge(f"documents are read up to {limit:,} bytes")
    stream.seek(0)
    head = stream.read(_HEAD)
    if not head.strip() and size <= _HEAD:
        raise NothingToRead("the file is empty")
    try:
        return _by_content(stream, head, PurePath(name).suffix.lower())
    finally:
        stream.seek(0)


def _by_content(stream: BinaryIO, head: bytes, suffix: str) -> str:
    # Readers accept junk before the header; ISO 32000-2 annex I names 1,024 bytes.
    if b"%PDF-" in head[:1024]:
        return PDF
    if head.startswith(b"PK"):
        return _package_kind(stream)
    if head.startswith(_OLE):
        return _refuse_ole(stream)
    if head.startswith(b"{\\rtf"):
        return RTF
    if looks_binary(head):
        raise UnsupportedDocument("the content is neither text nor a supported document")
    if suffix in _NEVER_TEXT:
        raise UnsupportedDocument("the content is plain text under the name of another kind of document")
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:14].lower().startswith((b"<!doctype html", b"<html")):
        return HTML
    return _TEXT_KINDS.get(suffix, PLAIN)


def _package_kind(stream: BinaryIO) -> str:
    with open_package(stream) as package:
        names = package.namelist()
    if "[Content_Types].xml" in names and any(name.startswith("word/") for name in names):
        return DOCX
    raise UnsupportedDocument("the package is not a Word document")


def _refuse_ole(stream: BinaryIO) -> str:
    """Encrypted DOCX and the old binary DOC share this container."""
    stream.seek(0)
    if _OLE_ENCRYPTED in stream.read():
        raise PasswordProtected("the document is password-protected")
    raise UnsupportedDocument("old binary Office files are not read; save it as DOCX or PDF")
