"""Lines back to paragraphs: a PDF ends each line where the page did, and a text file may be wrapped."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from statistics import median

# As long as this a line is wrapped, whatever is around it.
_LONG = 50
# A shorter one is a heading, a list item or a table row, even when the next line begins in lower case.
_SHORT = 20
# Of the lines of a column, all but the last of a paragraph are nearly as long as the middle one.
_NEARLY = 0.8
_ITEM = re.compile(r"(?:[-*•‣·–—#|>]|\(?(?:\d{1,3}|[a-z])[.)])(?=\s)")
_HYPHENATED = re.compile(r"[^\W\d_](?:-|\u00ad)$")
# "Vor- und Nachteile", "first- or second-hand": the hyphen stands for a word and stays.
_SUSPENDED = re.compile(r"(?:und|oder|bis|and|or|to)\s")


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs in order, each on one line, its words whole again; blank lines are left out."""
    lines = map(str.strip, text.split("\n"))
    for filled, run in groupby(lines, key=bool):
        if filled:
            yield from _joined(list(run))


def _joined(lines: Sequence[str]) -> Iterator[str]:
    """The paragraphs of lines without a blank one between them."""
    wrapped_from = _wrapped_from(lines)
    held = lines[0]
    for line, following in pairwise(lines):
        if _goes_on(line, following, wrapped_from):
            held = _append(held, following)
        else:
            yield held
            held = following
    yield held


def _wrapped_from(lines: Sequence[str]) -> float:
    """How long a line has to be to go on in the next. Where none goes on in lower case, nothing tells of a column."""
    if not any(_in_mid_sentence(*pair) for pair in pairwise(lines)):
        return _LONG
    return min(_LONG, max(_SHORT, _NEARLY * median(map(len, lines))))


def _goes_on(line: str, following: str, wrapped_from: float) -> bool:
    if _ITEM.match(following):
        return False
    return len(line) >= wrapped_from or _in_mid_sentence(line, following)


def _in_mid_sentence(line: str, following: str) -> bool:
    return len(line) >= _SHORT and (following[0].islower() or _HYPHENATED.search(line) is not None)


def _append(held: str, following: str) -> str:
    if not _HYPHENATED.search(held) or _SUSPENDED.match(following):
        return f"{held} {following}"
    # A hyphen before a capital or a figure is the word's own: "E-Mail-Adresse".
    kept = held[:-1] if following[0].islower() or held.endswith("\u00ad") else held
    return kept + following
