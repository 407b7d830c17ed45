"""RTF: the text without control words."""

from typing import BinaryIO

from striprtf.striprtf import rtf_to_text

from services.documents.errors import DocumentBroken, DocumentTooLarge
from services.documents.reading import Reading

# The converter is pure Python: about a second for each megabyte.
_MOST_BYTES = 8 * 1024 * 1024


def read(stream: BinaryIO) -> Reading:
    """Plain text. Raises DocumentTooLarge over 8 MB, DocumentBroken for what the converter cannot follow."""
    data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise DocumentTooLarge("RTF is read up to 8 MB")
    try:
        # RTF is ASCII by definition; Latin-1 carries stray bytes through to the declared code page.
        text = rtf_to_text(data.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]  # no types
        return Reading(text)
    except (ValueError, LookupError) as error:
        raise DocumentBroken("the RTF is damaged") from error
