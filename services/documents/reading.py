"""What every format's reader gives back, and how its text is made fit to send and to store."""

from dataclasses import dataclass

# More than any configured model reads (services/documents/models.py); the rest is cut and the answer says so.
MOST_CHARACTERS = 2_000_000

# PostgreSQL text cannot hold NUL, U+FEFF is an encoding's mark and no content, and the other control
# characters mean nothing outside a terminal. U+FFFE is pdfium's sign for a hyphen at a line's end.
_DROPPED = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127, 0xFEFF, 0xFFFE, 0xFFFF])


@dataclass(frozen=True)
class Reading:
    """Raw text of one file. `pages` counts from 1 and is None where the format has none."""

    text: str
    truncated: bool = False
    pages: int | None = None
    pages_without_text: tuple[int, ...] = ()


def tidy(text: str) -> str:
    """The text with `\\n` line ends, without control characters and lone surrogates, stripped."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").translate(_DROPPED)
    return lines.encode("utf-8", "ignore").decode("utf-8").strip()
