"""PDF, by pdfium: the text layer, page by page."""

import re
import threading
from typing import BinaryIO

import pypdfium2 as pdfium
from pypdfium2 import raw

from services.documents.errors import DocumentBroken, DocumentTooLarge, NothingToRead, PasswordProtected
from services.documents.reading import MOST_CHARACTERS, Reading

MOST_PAGES = 500
# A page number or a scanner's stamp is not a text layer.
_FEW_LETTERS = 10
# pdfium joins a word that was hyphenated at a line's end and puts this sign there.
_HYPHENATED = re.compile("\ufffe(.)")
# pdfium is not thread-safe (https://pypdfium2.readthedocs.io, "Incompatibility with Threading").
_pdfium = threading.Lock()


def read(stream: BinaryIO) -> Reading:
    """Text with a blank line between pages; pages that only hold pictures are listed, not read.

    Raises PasswordProtected, DocumentTooLarge over 500 pages, NothingToRead when no page has text,
    DocumentBroken when pdfium cannot repair it.
    """
    with _pdfium:
        _forget_last_error()
        try:
            document = pdfium.PdfDocument(stream.read())
        except pdfium.PdfiumError as error:
            if error.err_code == raw.FPDF_ERR_PASSWORD:
                raise PasswordProtected("the PDF is password-protected") from error
            raise DocumentBroken("the PDF is damaged or cut") from error
        try:
            return _read_pages(document)
        except pdfium.PdfiumError as error:
            raise DocumentBroken("a page of the PDF is damaged") from error
        finally:
            document.close()


def _forget_last_error() -> None:
    """pdfium keeps its last error when a document loads without a page, and that would be named as the reason.

    Nothing resets it but another error: that of a document without a byte is a matter of format.
    """
    raw.FPDF_LoadMemDocument64(b"", 0, None)


def _read_pages(document: pdfium.PdfDocument) -> Reading:
    count = len(document)
    if count == 0:
        raise NothingToRead("the PDF has no pages")
    if count > MOST_PAGES:
        raise DocumentTooLarge(f"PDFs are read up to {MOST_PAGES} pages, this one has {count}")
    texts: list[str] = []
    empty: list[int] = []
    length = 0
    for index in range(count):
        page = document[index]
        text = _text_of(page)
        if _is_picture(page, text):
            empty.append(index + 1)
        else:
            texts.append(text)
            length += len(text)
        page.close()
        if length > MOST_CHARACTERS:
            break
    if not texts:
        raise NothingToRead("the PDF holds pictures of text only; it needs text recognition first")
    return Reading(
        "\n\n".join(texts),
        truncated=length > MOST_CHARACTERS,
        pages=count,
        pages_without_text=tuple(empty),
    )


def _text_of(page: pdfium.PdfPage) -> str:
    layer = page.get_textpage()
    try:
        return _HYPHENATED.sub(_rejoin, layer.get_text_range())
    finally:
        layer.close()


def _rejoin(joint: re.Match[str]) -> str:
    """Before a capital or a figure the hyphen was the word's own: "E-Mail-Adresse"."""
    return joint[1] if joint[1].islower() else f"-{joint[1]}"


def _is_picture(page: pdfium.PdfPage, text: str) -> bool:
    """Few letters, and a picture or nothing at all; a title page with three words is text."""
    if sum(map(str.isalpha, text)) >= _FEW_LETTERS:
        return False
    pictures = page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)
    return not text.strip() or next(iter(pictures), None) is not None
