"""Summary by Luhn's method: the sentences in which the document's frequent words stand close together."""

from importlib.metadata import version

from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
from sumy.nlp.stemmers import Stemmer
from sumy.summarizers.luhn import LuhnSummarizer

from services.documents.analyses import Summary
from services.documents.local.language import stop_words
from services.documents.local.paragraphs import paragraphs
from services.documents.local.sentences import Sentences

_IN_SUMMARY = 4
_KEY_POINTS = 5
_LONGEST_TITLE = 100


def summarise(text: str, language: str) -> tuple[Summary, str, str]:
    """The summary, the libraries' name and a note. It consists of the document's own sentences, in their order."""
    splitter = Sentences()
    title, body = _title(text)
    sentences = [Sentence(piece, splitter) for piece in splitter.to_sentences(body)]
    document = ObjectDocumentModel([Paragraph(sentences)])
    best = _summarizer(language)
    chosen = [str(sentence) for sentence in best(document, _IN_SUMMARY)]
    further = [str(sentence) for sentence in best(document, _IN_SUMMARY + _KEY_POINTS)]
    answer = Summary(
        title=title,
        summary=" ".join(chosen),
        key_points=[sentence for sentence in further if sentence not in chosen],
    )
    note = "Sentences chosen from the document by word frequency."
    return answer, f"sumy {version('sumy')} (Luhn)", note


def _summarizer(language: str) -> LuhnSummarizer:
    try:
        summarizer = LuhnSummarizer(Stemmer(language))
    except LookupError:
        # No stemmer for this language: words count as they are written.
        summarizer = LuhnSummarizer()
    summarizer.stop_words = stop_words(language)
    return summarizer


def _title(text: str) -> tuple[str | None, str]:
    """A short first paragraph that is no sentence, and the rest."""
    first, *rest = [*paragraphs(text)] or [""]
    line = first.lstrip("# ")
    if rest and 0 < len(line) <= _LONGEST_TITLE and line[-1] not in ".!?,;":
        return line, "\n\n".join(rest)
    return None, text
