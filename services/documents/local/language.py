"""Which language a text is in, as far as its script and its commonest words tell."""

import re
from functools import cache

_SAMPLE = 20_000
_WORDS = re.compile(r"[^\W\d_]+")
_SCRIPTS = (
    ("japanese", re.compile(r"[\u3040-\u30ff]")),
    ("chinese", re.compile(r"[\u4e00-\u9fff]")),
    ("korean", re.compile(r"[\uac00-\ud7af]")),
    ("arabic", re.compile(r"[\u0600-\u06ff]")),
    ("hebrew", re.compile(r"[\u0590-\u05ff]")),
    ("thai", re.compile(r"[\u0e00-\u0e7f]")),
    ("greek", re.compile(r"[\u0370-\u03ff]")),
    ("cyrillic", re.compile(r"[\u0400-\u04ff]")),
)
_LATIN = ("english", "german", "french", "spanish", "italian", "portuguese", "swedish", "polish", "czech")
# English prose is two fifths stop words; a table of names and figures has next to none.
_FEWEST_COMMON_WORDS = 0.15
# Languages share words ("in", "die", "no"); a narrow lead over English is chance.
_CLEARLY_MORE = 0.1
_OF_ANOTHER_SCRIPT = 0.3

UNKNOWN = "unknown"


def guess_language(text: str) -> str:
    """Its English name in lower case (`cyrillic` for all languages in that script), or `unknown`."""
    sample = text[:_SAMPLE]
    letters = sum(map(str.isalpha, sample))
    for name, script in _SCRIPTS:
        if letters and len(script.findall(sample)) > _OF_ANOTHER_SCRIPT * letters:
            return name
    words = [word.lower() for word in _WORDS.findall(sample)]
    if not words:
        return UNKNOWN
    shares = {name: sum(word in stop_words(name) for word in words) / len(words) for name in _LATIN}
    best = max(shares, key=lambda name: shares[name])
    if shares[best] < _FEWEST_COMMON_WORDS:
        return UNKNOWN
    return best if shares[best] > shares["english"] + _CLEARLY_MORE else "english"


@cache
def stop_words(language: str) -> frozenset[str]:
    """The language's commonest words; none for a language without a list."""
    from sumy.utils import get_stop_words

    try:
        return frozenset(get_stop_words(language))
    except LookupError:
        return frozenset()
