"""Sentiment by VADER's list of English words, sentence by sentence."""

from functools import cache
from importlib.metadata import version
from typing import Literal

from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from services.documents.analyses import Sentiment
from services.documents.local.language import UNKNOWN
from services.documents.local.sentences import Sentences

# VADER's authors' own threshold for a sentence with an opinion.
_OPINION = 0.05
# Both sides this strong make a text mixed, whatever the average.
_BOTH_SIDES = 0.3
_REASONS = 3

Label = Literal["positive", "neutral", "negative", "mixed"]


def judge(text: str, language: str) -> tuple[Sentiment, str, str]:
    """The sentiment, the library's name and a note. Reasons are the sentences that weigh most."""
    model = f"vaderSentiment {version('vaderSentiment')}"
    if language not in ("english", UNKNOWN):
        return (
            Sentiment(label="neutral", score=0, reasons=[]),
            model,
            "Not judged: this engine knows English only.",
        )
    scored = [(_score(sentence), sentence) for sentence in Sentences().to_sentences(text)]
    opinions = sorted(
        (entry for entry in scored if abs(entry[0]) >= _OPINION), key=lambda entry: -abs(entry[0])
    )
    scores = [score for score, _ in opinions]
    mean = round(sum(scores) / len(scores), 3) if scores else 0.0
    answer = Sentiment(
        label=_label(scores, mean),
        score=mean,
        reasons=[sentence for _, sentence in opinions[:_REASONS]],
    )
    return answer, model, "Judged by a list of English words; irony and context are lost on it."


def _label(scores: list[float], mean: float) -> Label:
    if not scores:
        return "neutral"
    above = sum(score > 0 for score in scores) / len(scores)
    if len(scores) > 1 and min(above, 1 - above) >= _BOTH_SIDES:
        return "mixed"
    if abs(mean) < _OPINION:
        return "neutral"
    return "positive" if mean > 0 else "negative"


def _score(sentence: str) -> float:
    return float(_vader().polarity_scores(sentence)["compound"])


@cache
def _vader() -> SentimentIntensityAnalyzer:
    """Reads its word list from the package once."""
    return SentimentIntensityAnalyzer()
