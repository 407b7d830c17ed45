"""RTF 1.9.1: the text without control words.

Read token by token: the converters on offer search with patterns whose time grows with the square of the length
and more, so a small file could hold a worker for hours.
"""

import re
from dataclasses import dataclass, field
from typing import BinaryIO

from services.documents.errors import DocumentBroken, DocumentTooLarge
from services.documents.reading import Reading

_MOST_BYTES = 4 * 1024 * 1024
_DEEPEST = 1_000
_TOKEN = re.compile(
    r"\\([a-zA-Z]{1,32})(-?\d{1,9})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z'])|([{}])|([^\\{}\r\n]+)|[\r\n\\]",
    re.DOTALL,
)
# Groups that hold no text of the page. One that begins with \* is skipped too, as the format asks.
_SKIPPED = {
    "colortbl", "stylesheet", "info", "pict", "object", "fldinst", "listtable", "listoverridetable", "rsidtbl",
    "generator", "themedata", "colorschememapping", "datastore", "latentstyles", "xmlnstbl", "filetbl", "revtbl",
    "pgdsctbl", "nonshppict", "bkmkstart", "bkmkend", "private", "mmathPr", "annotation", "atnid", "atnauthor",
    "deleted", "falt", "panose",
}  # fmt: skip
_WORDS = {
    "par": "\n", "line": "\n", "sect": "\n", "page": "\n", "row": "\n", "tab": "\t", "cell": " | ",
    "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
}  # fmt: skip
_SYMBOLS = {"\\": "\\", "{": "{", "}": "}", "~": " ", "_": "-", "\n": "\n", "\r": "\n"}
_CHARSETS = {
    77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gbk", 136: "big5", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip


@dataclass(slots=True)
class _Group:
    """What a group inherits from the one around it."""

    skipped: bool = False
    in_fonts: bool = False
    encoding: str = "cp1252"
    # How many characters stand in for a \u character, for readers that do not know it.
    fallback: int = 1


@dataclass
class _Page:
    pieces: list[str] = field(default_factory=list)
    groups: list[_Group] = field(default_factory=lambda: [_Group()])
    fonts: dict[int, str] = field(default_factory=dict)
    font: int = 0
    encoded: bytearray = field(default_factory=bytearray)
    unread: int = 0

    def write(self, text: str) -> None:
        """Text of the page, unless it stands in for a character already written."""
        self.flush()
        if self.unread:
            skipped = min(self.unread, len(text))
            self.unread -= skipped
            text = text[skipped:]
        group = self.groups[-1]
        if not group.skipped and not group.in_fonts:
            self.pieces.append(text)

    def write_byte(self, value: int) -> None:
        """Bytes are kept until the run ends: in some code pages two make a character."""
        if self.unread:
            self.unread -= 1
        elif not self.groups[-1].skipped and not self.groups[-1].in_fonts:
            self.encoded.append(value)

    def flush(self) -> None:
        """Decode the run of bytes that has ended."""
        if self.encoded:
            self.pieces.append(self.encoded.decode(self.groups[-1].encoding, "replace"))
            self.encoded.clear()

    def brace(self, brace: str) -> None:
        """Open or close a group."""
        if self.encoded:
            self.flush()
        self.unread = 0
        if brace == "{":
            if len(self.groups) > _DEEPEST:
                raise DocumentBroken("the RTF is nested too deeply")
            around = self.groups[-1]
            self.groups.append(_Group(around.skipped, around.in_fonts, around.encoding, around.fallback))
        elif len(self.groups) > 1:
            self.groups.pop()

    def word(self, name: str, number: int | None) -> None:
        """Obey one control word; unknown ones say nothing about the text."""
        self.flush()
        group = self.groups[-1]
        if name == "u" and number is not None:
            self.unread = 0
            self.write(chr(number & 0xFFFF))
            self.unread = group.fallback
        elif name in _WORDS:
            self.write(_WORDS[name])
        elif name in _SKIPPED:
            group.skipped = True
        elif name == "fonttbl":
            group.in_fonts = True
        elif number is not None:
            self._numbered(name, number, group)

    def _numbered(self, name: str, number: int, group: _Group) -> None:
        if name == "uc":
            group.fallback = max(0, number)
        elif name == "ansicpg":
            group.encoding = _known(f"cp{number}")
        elif name == "f":
            self.font = number
            group.encoding = self.fonts.get(number, group.encoding)
        elif name == "fcharset" and group.in_fonts and number in _CHARSETS:
            self.fonts[self.font] = _CHARSETS[number]


def read(stream: BinaryIO) -> Reading:
    """Plain text. Raises DocumentTooLarge over 4 MB, DocumentBroken when groups nest beyond reason."""
    data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise DocumentTooLarge("RTF is read up to 4 MB")
    # RTF is ASCII by definition; stray bytes mean what they mean in Windows' Western code page.
    source = data.decode("cp1252", "replace")
    page = _Page()
    at = 0
    while token := _TOKEN.match(source, at):
        at = token.end()
        word, number, byte, symbol, brace, text = token.groups()
        if word == "bin":
            at += int(number or 0)
        elif word:
            page.word(word, int(number) if number else None)
        elif byte:
            page.write_byte(int(byte, 16))
        elif symbol == "*":
            page.groups[-1].skipped = True
        elif brace:
            page.brace(brace)
        elif text or symbol in _SYMBOLS:
            page.write(text or _SYMBOLS[symbol])
    page.flush()
    # Characters beyond the first plane come as two \u surrogates.
    return Reading("".join(page.pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _known(encoding: str) -> str:
    try:
        "".encode(encoding)
    except LookupError:
        return "cp1252"
    return encoding
