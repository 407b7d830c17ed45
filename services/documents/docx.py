"""DOCX: headers, body, notes and footers, in that order, with everything a reader of the page would see.

Tables, nested tables, text boxes, content controls and tracked insertions are in it; deleted and moved-away
text, field codes and comments are not. The XML is read as a stream of events, so a large part needs no tree,
and a document type declaration (entities, and through them files and URLs) is refused: ECMA-376 part 2, 8.1.4
forbids it.
"""

import posixpath
import re
import zipfile
from typing import BinaryIO

from lxml import etree

from services.documents.errors import DocumentBroken, DocumentTooLarge
from services.documents.package import inflate, open_package
from services.documents.reading import MOST_CHARACTERS, Reading

# Transitional, strict, and mathematics.
_TEXT_NAMESPACES = (
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "http://purl.oclc.org/ooxml/wordprocessingml/main",
    "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "http://purl.oclc.org/ooxml/officeDocument/math",
)
_SKIPPED = {"del", "moveFrom", "instrText", "pPr", "rPr", "sectPr", "tblPr", "trPr", "tcPr", "sdtPr"}
_SIGNS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
# The old form of a drawing, written beside the new one with the same text.
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_CELL, _LINE = " | ", "\n"
_MOST_RELATIONS_BYTES = 1024 * 1024
_OFFICE_DOCUMENT = "/relationships/officeDocument"


class _Full(Exception):
    """Enough text has been read."""


class _Text:
    """Parser target: takes the visible text out of the events."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.length = 0
        self._skipping = 0
        self._taking = False

    def doctype(self, *_: object) -> None:
        raise DocumentBroken("the document declares XML entities, which the format forbids")

    def start(self, tag: str, _: object) -> None:
        name = _name(tag)
        if self._skipping or name in _SKIPPED or tag == _FALLBACK:
            self._skipping += 1
        elif name == "t":
            self._taking = True
        elif name in _SIGNS:
            self.pieces.append(_SIGNS[name])

    def data(self, text: str) -> None:
        if self._taking:
            self.pieces.append(text)
            self.length += len(text)
            if self.length > MOST_CHARACTERS:
                raise _Full

    def end(self, tag: str) -> None:
        if self._skipping:
            self._skipping -= 1
            return
        match _name(tag):
            case "t":
                self._taking = False
            case "p":
                self.pieces.append(_LINE)
            case "tc":
                self._end_with(_CELL, instead_of=_LINE)
            case "tr":
                self._end_with(_LINE, instead_of=_CELL)

    def close(self) -> None:
        """Nothing to build: the text is read from `pieces`."""

    def _end_with(self, mark: str, *, instead_of: str) -> None:
        """A row is one line: a cell's last paragraph ends in a bar, the row's last cell in a line end."""
        if self.pieces[-1:] == [instead_of]:
            self.pieces.pop()
        self.pieces.append(mark)


def read(stream: BinaryIO) -> Reading:
    """The visible text. Raises DocumentBroken, DocumentTooLarge or PasswordProtected."""
    with open_package(stream) as package:
        parts: dict[str, None] = {}
        length = 0
        for name in _part_names(package):
            text, full = _part_text(package, name)
            # First, even and default headers usually say the same; once is enough.
            parts[text.strip()] = None
            length += len(text)
            if full or length > MOST_CHARACTERS:
                return Reading("\n".join(parts), truncated=True)
    return Reading("\n".join(parts))


def _part_text(package: zipfile.ZipFile, name: str) -> tuple[str, bool]:
    target = _Text()
    # lxml-stubs do not know parser targets that are no TreeBuilder.
    parser = etree.XMLParser(target=target, resolve_entities=False, no_network=True, load_dtd=False)  # type: ignore[arg-type]
    full = False
    try:
        for chunk in inflate(package, name):
            parser.feed(chunk)
        parser.close()
    except _Full:
        full = True
    except etree.XMLSyntaxError as error:
        raise DocumentBroken("the document's XML is damaged") from error
    return "".join(target.pieces), full


def _part_names(package: zipfile.ZipFile) -> list[str]:
    """Headers, the main part, footnotes, endnotes, footers: those that lie beside the main part."""
    main = _main_part(package)
    folder = re.escape(posixpath.dirname(main))
    names = sorted(package.namelist(), key=lambda name: (len(name), name))

    def beside(kind: str) -> list[str]:
        return [name for name in names if re.fullmatch(rf"{folder}/{kind}\d*\.xml", name)]

    return [*beside("header"), main, *beside("footnotes"), *beside("endnotes"), *beside("footer")]


def _main_part(package: zipfile.ZipFile) -> str:
    source = b""
    for chunk in inflate(package, "_rels/.rels"):
        source += chunk
        if len(source) > _MOST_RELATIONS_BYTES:
            raise DocumentTooLarge("the package's list of relations is too long")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        relations = etree.fromstring(source, parser)
    except etree.XMLSyntaxError as error:
        raise DocumentBroken("the package's list of relations is damaged") from error
    for relation in relations:
        if str(relation.get("Type", "")).endswith(_OFFICE_DOCUMENT):
            return posixpath.normpath(str(relation.get("Target", ""))).lstrip("/")
    raise DocumentBroken("the package names no main document")


def _name(tag: str) -> str:
    """The local name of a text element; empty for other vocabularies, whose `t` or `p` mean other things."""
    namespace, _, name = tag[1:].partition("}")
    return name if namespace in _TEXT_NAMESPACES else ""
