"""The engine without a model: useful on the sample, honest about its limits, quick on anything."""

import time
from pathlib import Path

import pytest

from services.documents.analyses import AnalysisKind, Extraction, Sentiment, Summary
from services.documents.local import analyse_locally
from services.documents.local.language import guess_language
from services.documents.local.sentences import Sentences

SAMPLE = (Path(__file__).parents[3] / "app" / "static" / "samples" / "sample.txt").read_text("utf-8")
LONG = {
    "one line": "kettle " * 40_000,
    "a megabyte of prose": "The kettle of the plant works on 3 May 2026 for $5. " * 20_000,
    "no spaces": "a" * 400_000,
    "half addresses": "a@" * 200_000,
    "figures": "1,111" * 100_000,
    "different dates": " ".join(f"{n % 28 + 1} March {1000 + n} cost {n}.50 euro." for n in range(9_000)),
    "marks": ". " * 200_000,
    "lines": "x\n" * 200_000,
}


def test_a_summary_is_made_of_the_documents_own_sentences() -> None:
    answer = analyse_locally(SAMPLE, "summary").answer
    assert isinstance(answer, Summary)
    assert answer.title == "Customer feedback on the Alder coffee grinder, third quarter 2026"
    assert 100 < len(answer.summary) < 1500
    assert answer.key_points
    assert all(point in SAMPLE for point in answer.key_points)


def test_praise_and_complaint_together_are_mixed() -> None:
    answer = analyse_locally(SAMPLE, "sentiment").answer
    assert isinstance(answer, Sentiment)
    assert answer.label == "mixed"
    assert any("angry" in reason for reason in answer.reasons)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("A wonderful machine. I love it!", "positive"),
        ("Terrible. I hate this broken thing.", "negative"),
        ("The box holds four cups.", "neutral"),
    ],
)
def test_plain_opinions_are_told_apart(text: str, label: str) -> None:
    answer = analyse_locally(text, "sentiment").answer
    assert isinstance(answer, Sentiment)
    assert answer.label == label


def test_dates_sums_and_addresses_are_found() -> None:
    answer = analyse_locally(SAMPLE, "extraction").answer
    assert isinstance(answer, Extraction)
    assert {"12 October 2026": "2026-10-12", "1 July": None}.items() <= {
        d.text: d.iso for d in answer.dates
    }.items()
    assert {"$1,419.00": "1419.00", "€14,200": "14200", "42,000 euro": "42000"}.items() <= {
        amount.text: amount.value for amount in answer.amounts
    }.items()
    assert answer.emails == ["ingrid.solberg@fjordlight.example", "workshop@fjordlight.example"]


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("14. März 2026", "2026-03-14"),
        ("May 5, 2026", "2026-05-05"),
        ("5 de mayo de 2026", "2026-05-05"),
        ("1er août 2026", "2026-08-01"),
        ("13/04/2026", "2026-04-13"),
        ("04/13/2026", "2026-04-13"),
        ("03/04/2026", None),
        ("2026-02-30", None),
    ],
)
def test_a_date_is_resolved_only_if_it_has_one_meaning(written: str, iso: str | None) -> None:
    answer = analyse_locally(f"It was on {written} that we met.", "extraction").answer
    assert isinstance(answer, Extraction)
    assert [(date.text, date.iso) for date in answer.dates] == [(written, iso)]


@pytest.mark.parametrize(
    ("written", "value", "currency"),
    [
        ("1.200,50 €", "1200.50", "EUR"),
        ("182 000 euro", "182000", "EUR"),
        ("£12", "12", "GBP"),
        ("eur 12", "12", "EUR"),
        ("USD 12.99", "12.99", "USD"),
        ("$12.99", "12.99", "USD"),
        ("CA$12.99", "12.99", "CAD"),
        ("1.2 million dollars", "1200000.0", "USD"),
        ("¥500", "500", "¥"),
        ("500 yen", "500", "JPY"),
    ],
)
def test_a_sum_is_read_in_its_own_notation(written: str, value: str, currency: str) -> None:
    answer = analyse_locally(f"It cost {written} in all.", "extraction").answer
    assert isinstance(answer, Extraction)
    assert [(a.text, a.value, a.currency) for a in answer.amounts] == [(written, value, currency)]


@pytest.mark.parametrize("kind", ["summary", "sentiment", "extraction"])
@pytest.mark.parametrize("name", LONG)
def test_no_text_takes_more_than_ten_seconds(name: str, kind: AnalysisKind) -> None:
    # Processor time: other tests may share the machine.
    begun = time.process_time()
    assert analyse_locally(LONG[name], kind).truncated
    assert time.process_time() - begun < 10


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (SAMPLE, "english"),
        ("Das Gerät ist nicht gut und die Lieferung war zu spät, aber wir haben es behalten.", "german"),
        ("La machine est très belle mais le couvercle ne ferme pas et nous sommes déçus.", "french"),
        ("日本語のテキストです。とても良い。", "japanese"),
        ("Производство выросло, и завод работает.", "cyrillic"),
        ("4560 3.4 2.1", "unknown"),
    ],
)
def test_the_language_is_guessed(text: str, language: str) -> None:
    assert guess_language(text) == language


def test_another_language_is_labelled_and_not_judged() -> None:
    found = analyse_locally("Das Gerät ist nicht gut und die Lieferung war zu spät.", "sentiment")
    assert found.answer == Sentiment(label="neutral", score=0, reasons=[])
    assert found.note == "Not judged: this engine knows English only. The text looks like German."


def test_sentences_survive_wrapped_lines_abbreviations_and_lists() -> None:
    text = (
        "Mr. Smith of the workshop wrote a letter that was\nlong enough to wrap. He asked e.g. for screws!\n"
        "- First item\n- Second item"
    )
    assert Sentences().to_sentences(text) == (
        "Mr. Smith of the workshop wrote a letter that was long enough to wrap.",
        "He asked e.g. for screws!",
        "- First item",
        "- Second item",
    )
