"""Sentences and words by rule, in the shape sumy asks of a tokenizer. nltk's own would download its data."""

import re
from collections.abc import Iterator

from services.documents.local.paragraphs import paragraphs

_ENDS = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s)|[。！？]")
_ABBREVIATIONS = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|Nr|vs|etc|e\.g|i\.e|z\.B|ca|approx|[A-Z]))\.$")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_LONGEST = 400


class Sentences:
    """Splits text in any language that ends sentences with a mark; a run without marks is cut at 400 characters."""

    def to_sentences(self, text: str) -> tuple[str, ...]:
        """The sentences in order, stripped, none empty."""
        return tuple(piece for block in paragraphs(text) for piece in _split(block) if piece)

    def to_words(self, sentence: str) -> tuple[str, ...]:
        """The words, without figures and punctuation."""
        return tuple(_WORD.findall(sentence))


def _split(block: str) -> Iterator[str]:
    begin = 0
    for end in _ENDS.finditer(block):
        if _ABBREVIATIONS.search(block, max(begin, end.end() - 10), end.end()):
            continue
        yield from _pieces(block[begin : end.end()].strip())
        begin = end.end()
    yield from _pieces(block[begin:].strip())


def _pieces(sentence: str) -> Iterator[str]:
    while len(sentence) > _LONGEST:
        cut = sentence.rfind(" ", 0, _LONGEST)
        cut = cut if cut > 0 else _LONGEST
        yield sentence[:cut]
        sentence = sentence[cut:].strip()
    yield sentence
