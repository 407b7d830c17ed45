"""HTML: the text people would see."""

from typing import BinaryIO

from selectolax.lexbor import LexborHTMLParser

from services.documents.errors import DocumentTooLarge
from services.documents.reading import Reading
from services.documents.text import decode

# The parsed tree takes some ten times the source in memory.
_MOST_BYTES = 8 * 1024 * 1024
_UNSEEN = ["script", "style", "noscript", "template", "head"]


def read(stream: BinaryIO) -> Reading:
    """Text without markup, scripts and styles. Raises DocumentTooLarge over 8 MB of source."""
    data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise DocumentTooLarge("HTML is read up to 8 MB")
    tree = LexborHTMLParser(decode(data))
    tree.strip_tags(_UNSEEN)
    return Reading(tree.root.text(separator="\n", strip=True) if tree.root else "")
