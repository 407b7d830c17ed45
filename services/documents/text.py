"""Bytes to text: byte order marks, UTF-8, then a guess; refused when it is no text at all."""

import codecs
from typing import BinaryIO

import charset_normalizer

from services.documents.errors import UnsupportedDocument
from services.documents.reading import MOST_CHARACTERS, Reading

# Longest first: the UTF-32 mark begins with the UTF-16 one.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r\x1b"))
# A stray NUL is damage; random bytes hold about one control character in nine.
_BINARY_SHARE = 0.05
_SAMPLE = 64 * 1024
_ASCII = bytes(range(128))
# A handful of spoilt bytes, or a small share of all that is beyond ASCII, is damage and no other encoding.
_FEW_SPOILT = 5
_SPOILT_SHARE = 0.01
# Four bytes is the longest character of any encoding met here.
_MOST_BYTES = MOST_CHARACTERS * 4


def read(stream: BinaryIO) -> Reading:
    """The whole stream as text. Raises UnsupportedDocument for binary content."""
    data = stream.read(_MOST_BYTES + 1)
    return Reading(decode(data[:_MOST_BYTES]), truncated=len(data) > _MOST_BYTES)


def looks_binary(sample: bytes) -> bool:
    """Whether control characters are too frequent for text in an encoding without a byte order mark."""
    if not sample or sample.startswith(tuple(mark for mark, _ in _MARKS)):
        return False
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls / len(sample) > _BINARY_SHARE


def decode(data: bytes) -> str:
    """The text of `data`; bytes that fit no reading become U+FFFD. Raises UnsupportedDocument for binary."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if looks_binary(data[:_SAMPLE]):
        raise UnsupportedDocument("the content is binary, not text")
    try:
        # Not final: the read limit may cut the last character in half.
        return codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(data)
        return text if _is_damaged_utf8(data, text) else data.decode(_guess(data), "replace")


def _is_damaged_utf8(data: bytes, text: str) -> bool:
    """Whether `text`, `data` as UTF-8, was that before some of its bytes were spoilt.

    Text in another encoding hardly ever holds a valid sequence of UTF-8 beyond ASCII.
    """
    spoilt = text.count("\ufffd") - data.count("\ufffd".encode())
    valid = len(text) - len(text.encode("ascii", "ignore")) - spoilt
    return spoilt <= min(valid, _FEW_SPOILT) or spoilt < valid * _SPOILT_SHARE


def _guess(data: bytes) -> str:
    beyond_ascii = len(data) - len(data.lstrip(_ASCII))
    # A sample of ASCII alone would tell nothing about the rest.
    start = 0 if beyond_ascii < _SAMPLE else beyond_ascii
    best = charset_normalizer.from_bytes(data[start : start + _SAMPLE]).best()
    if best is None:
        raise UnsupportedDocument("the text is in no known encoding")
    # Short samples fit several Windows code pages equally well; the Western one is by far the most common.
    return "cp1252" if "cp1252" in best.could_be_from_charset else best.encoding
