"""HTML: the text people would see."""

from typing import BinaryIO

from lxml import etree

from services.documents.errors import DocumentBroken, DocumentTooLarge
from services.documents.reading import Reading
from services.documents.text import decode

_MOST_BYTES = 4 * 1024 * 1024
# Parsers search all open elements at many tags, so depth times length is their time. Browsers stop at 512 too.
_DEEPEST = 500
_UNSEEN = {"head", "script", "style", "noscript", "template", "title"}
_BREAKS = {
    "p",
    "div",
    "br",
    "li",
    "tr",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "pre",
    "section",
    "table",
    "blockquote",
}
_CELLS = {"td", "th"}


class _Text:
    """Parser target: no tree is built, so markup of any kind costs no memory."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._depth = 0
        self._unseen = 0

    def start(self, tag: str, _: object) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise DocumentBroken(f"the HTML is nested deeper than {_DEEPEST} elements")
        self._unseen += tag in _UNSEEN
        if tag in _BREAKS:
            self.pieces.append("\n")

    def end(self, tag: str) -> None:
        self._depth -= 1
        self._unseen -= tag in _UNSEEN
        if tag in _BREAKS:
            self.pieces.append("\n")
        elif tag in _CELLS:
            self.pieces.append(" | ")

    def data(self, text: str) -> None:
        if not self._unseen:
            self.pieces.append(text)

    def close(self) -> None:
        """Nothing to build: the text is read from `pieces`."""


def read(stream: BinaryIO) -> Reading:
    """Text without markup, scripts and styles. Raises DocumentTooLarge over 4 MB, DocumentBroken if too deep."""
    data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise DocumentTooLarge("HTML is read up to 4 MB")
    target = _Text()
    # lxml-stubs do not know parser targets that are no TreeBuilder.
    parser = etree.HTMLParser(target=target, encoding="utf-8", no_network=True)  # type: ignore[arg-type]
    parser.feed(decode(data).encode("utf-8", "ignore"))
    parser.close()
    lines = (line.strip() for line in "".join(target.pieces).splitlines())
    return Reading("\n".join(filter(None, lines)))
