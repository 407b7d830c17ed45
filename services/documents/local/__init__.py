"""The engine that needs no key and no network: word counts, word lists and patterns, on this machine.

It never pretends to be a model: answers are labelled `local`, name the libraries they come from, and say what
this engine cannot do.
"""

from collections.abc import Callable
from dataclasses import dataclass

from services.documents.analyses import AnalysisKind, Answer
from services.documents.local.language import UNKNOWN, guess_language

# Keeps the slowest analysis of the longest document within a few seconds.
MOST_CHARACTERS = 100_000


@dataclass(frozen=True)
class Found:
    """`model` names the libraries, `truncated` tells that only the first 100,000 characters were read."""

    answer: Answer
    model: str
    truncated: bool
    note: str


def analyse_locally(text: str, kind: AnalysisKind) -> Found:
    """Answer from the text alone, within seconds for any length."""
    read = text[:MOST_CHARACTERS]
    language = guess_language(read)
    answer, model, note = _engine(kind)(read, language)
    if language not in ("english", UNKNOWN):
        note = f"{note} The text looks like {language.capitalize()}."
    return Found(answer, model, truncated=len(read) < len(text), note=note)


def _engine(kind: AnalysisKind) -> Callable[[str, str], tuple[Answer, str, str]]:
    # Imported on first use: sumy brings in all of nltk, which takes over a second, and only this engine needs it.
    if kind == "summary":
        from services.documents.local.summary import summarise

        return summarise
    if kind == "sentiment":
        from services.documents.local.sentiment import judge

        return judge
    from services.documents.local.extraction import find

    return find
