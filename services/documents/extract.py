"""From a stored file to its text."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from services.documents import docx, html, identify, pdf, rtf, text
from services.documents.errors import NothingToRead
from services.documents.reading import MOST_CHARACTERS, Reading, tidy

_READERS: dict[str, Callable[[BinaryIO], Reading]] = {
    identify.PDF: pdf.read,
    identify.DOCX: docx.read,
    identify.RTF: rtf.read,
    identify.HTML: html.read,
    identify.CSV: text.read,
    identify.MARKDOWN: text.read,
    identify.PLAIN: text.read,
}


@dataclass(frozen=True)
class Document:
    """The text of one file, ready to send and to store: no NUL, no U+FEFF, `\\n` line ends.

    `pages` is None where the format has none, `pages_without_text` counts from 1, `characters` is the length
    of `text`, `truncated` tells that the file held more than 2,000,000 characters.
    """

    media_type: str
    text: str
    pages: int | None
    pages_without_text: tuple[int, ...]
    truncated: bool
    characters: int


def extract(stream: BinaryIO, name: str) -> Document:
    """Read a seekable stream; `name` only tells kinds of text apart. Raises DocumentUnreadable's children."""
    media_type = identify.identify(stream, name)
    reading = _READERS[media_type](stream)
    tidied = tidy(reading.text)
    kept = tidied[:MOST_CHARACTERS]
    if not any(map(str.isalnum, kept)):
        raise NothingToRead("the document holds no text")
    return Document(
        media_type=media_type,
        text=kept,
        pages=reading.pages,
        pages_without_text=reading.pages_without_text,
        truncated=reading.truncated or len(tidied) > MOST_CHARACTERS,
        characters=len(kept),
    )
