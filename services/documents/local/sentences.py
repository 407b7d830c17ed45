"""Sentences and words by rule, in the shape sumy asks of a tokenizer. nltk's own would download its data."""

import re
from collections.abc import Iterator

_ENDS = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s)|[。！？]")
_ABBREVIATIONS = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|Nr|vs|etc|e\.g|i\.e|z\.B|ca|approx|[A-Z]))\.$")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
# A shorter line is a heading, a list item or a table row; a longer one may be wrapped.
_WRAPPED_FROM = 50
_LONGEST = 400


class Sentences:
    """Splits text in any language that ends sentences with a mark; a run without marks is cut at 400 characters."""

    def to_sentences(self, text: str) -> tuple[str, ...]:
        """The sentences in order, stripped, none empty."""
        return tuple(piece for block in _blocks(text) for piece in _split(block) if piece)

    def to_words(self, sentence: str) -> tuple[str, ...]:
        """The words, without figures and punctuation."""
        return tuple(_WORD.findall(sentence))


def _blocks(text: str) -> Iterator[str]:
    """Runs of wrapped lines, joined."""
    held: list[str] = []
    for line in map(str.strip, text.split("\n")):
        held.append(line)
        if len(line) < _WRAPPED_FROM:
            yield " ".join(held)
            held = []
    yield " ".join(held)


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
