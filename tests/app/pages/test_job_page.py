"""A job's page in each of its states, and its result by kind."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from config.settings import Settings
from db import ledger
from db.engine import transaction
from db.models import Job

Jobs = Callable[[], list[Job]]

LOCAL = {"engine": "local", "model": "sumy 0.13.0", "tokens": {"input": 0, "output": 0}, "cost_usd": "0"}
MODEL = {
    "engine": "anthropic",
    "model": "claude-sonnet-4-5",
    "tokens": {"input": 12_345, "output": 678},
    "cost_usd": "0.047205",
}
SUMMARY = {"title": "Minutes", "summary": "We met.", "key_points": ["It was short."]}
NOTHING: dict[str, list[str]] = {"people": [], "organisations": [], "dates": [], "amounts": [], "emails": []}


@pytest.fixture
def path(visitor: Any) -> str:
    """The page of a job that has just been accepted."""
    return str(visitor.send("documents", {"sample": "1", "analysis": "summary"}).location)


def id_of(path: str) -> str:
    """The job's id."""
    return path.rpartition("/")[2]


def test_a_queued_job_says_so_and_what_lies_ahead(visitor: Any, path: str) -> None:
    page = visitor.see(path)
    assert page.said(".title .state") == "Queued"
    assert [step.text(strip=True) for step in page.css(".timeline .ahead")] == ["Running", "Done"]
    assert page.said("[aria-current=step] strong") == "Queued"
    assert page.said("title").startswith("Analyse a document: Queued")


def test_a_running_job_shows_its_progress(
    visitor: Any, path: str, take: Callable[[str], ledger.Start]
) -> None:
    start = take(id_of(path))
    with transaction() as connection:
        ledger.checkpoint(connection, start, 40)
    page = visitor.see(path)
    assert page.said(".title .state") == "Running"
    assert page.value("progress[data-progress]") == "40"
    assert "Attempt 1 of up to 7" in page.said(".timeline .current")


def test_a_job_that_waits_says_for_what_and_until_when(
    visitor: Any, path: str, take: Callable[[str], ledger.Start]
) -> None:
    failure = ledger.Failure("failed", "model_busy", "the Messages API did not answer in time")
    start = take(id_of(path))
    with transaction() as connection:
        ledger.park(connection, start, failure, delay=timedelta(minutes=10, seconds=30))
    page = visitor.see(path)
    assert page.said(".title .state") == "Waiting"
    assert page.said(".timeline .current strong") == "Waiting for the next attempt"
    assert page.said(".timeline .current time") == "in 10 minutes"
    assert "language model is busy" in page.said(".problem")
    assert page.said(".problem code") == "model_busy"


def test_a_dead_job_says_why_in_words_and_by_its_code(
    visitor: Any, path: str, bury: Callable[..., str]
) -> None:
    bury(id_of(path))
    page = visitor.see(path)
    assert page.said(".title .state") == "Failed"
    assert "refuses this address" in page.said(".problem")
    assert page.said(".problem code") == "address_rejected"
    assert not page.css("form")


def test_a_job_can_be_cancelled(visitor: Any, path: str) -> None:
    token = visitor.see(path).value("form input[name=csrf_token]")
    answer = visitor.client.post(f"{path}/cancel", data={"csrf_token": token})
    assert (answer.status_code, answer.location) == (303, path)
    page = visitor.see(path)
    assert page.said(".title .state") == "Cancelled"
    assert not page.css("form")


def test_a_running_job_that_is_cancelled_says_that_it_will_stop(
    visitor: Any, path: str, take: Callable[[str], ledger.Start]
) -> None:
    take(id_of(path))
    token = visitor.see(path).value("form input[name=csrf_token]")
    visitor.client.post(f"{path}/cancel", data={"csrf_token": token})
    page = visitor.see(path)
    assert page.said(".timeline .ahead strong") == "Stops"
    assert not page.css("form")


def test_nobody_else_sees_or_cancels_it(visitor: Any, stranger: Any, path: str, jobs: Jobs) -> None:
    token = stranger.hidden("contact")["csrf_token"]
    for address in (path, f"{path}.json", f"{path}/events"):
        assert stranger.see(address).status == 404
    assert stranger.client.post(f"{path}/cancel", data={"csrf_token": token}).status_code == 404
    assert jobs()[0].state == "queued"


@pytest.mark.parametrize("path", ["/jobs/x", "/jobs/00000000-0000-0000-0000-000000000000", "/nowhere"])
def test_what_is_not_there_is_a_page_that_says_so(visitor: Any, path: str) -> None:
    page = visitor.see(path)
    assert page.status == 404
    assert page.said("h1") == "Nothing here"


def test_without_scripts_the_page_reloads_itself_until_the_job_is_final(
    visitor: Any, path: str, finish: Callable[..., None]
) -> None:
    assert 'http-equiv="refresh"' in visitor.client.get(path).text
    finish(id_of(path), {"analysis": "summary", "answer": SUMMARY, **LOCAL})
    assert "http-equiv" not in visitor.client.get(path).text


def test_the_facts_for_polling_are_those_of_the_page(visitor: Any, path: str) -> None:
    fact = visitor.client.get(f"{path}.json").json
    assert fact["state"] == "queued"
    assert fact["links"]["self"] == path
    assert visitor.see(path).one("[data-live]").attributes["data-signature"] == "queued 0  true"


def test_a_summary_by_the_local_engine_is_labelled_as_such(
    visitor: Any, path: str, finish: Callable[..., None]
) -> None:
    finish(id_of(path), {"analysis": "summary", "answer": SUMMARY, **LOCAL})
    page = visitor.see(path)
    assert page.said(".said") == "We met."
    assert "Local engine, not a language model." in page.said(".engine")
    assert "sumy 0.13.0" in page.said(".facts")


def test_a_summary_by_a_model_tells_model_tokens_and_cost(
    visitor: Any, path: str, finish: Callable[..., None]
) -> None:
    finish(id_of(path), {"analysis": "summary", "answer": SUMMARY, **MODEL})
    page = visitor.see(path)
    assert "claude-sonnet-4-5, a language model" in page.said(".engine")
    assert "12,345 read, 678 written" in page.said(".facts")
    assert "$0.047205" in page.said(".facts")


def test_a_sentiment_is_told_in_words_and_number(
    visitor: Any, path: str, finish: Callable[..., None]
) -> None:
    answer = {"label": "negative", "score": -0.5, "reasons": ["The hinge broke."]}
    finish(id_of(path), {"analysis": "sentiment", "answer": answer, **LOCAL})
    page = visitor.see(path)
    assert page.said(".said") == "Negative, −0.50 on a scale from −1 to +1"
    assert page.said(".answer li") == "The hinge broke."


def test_an_extraction_lists_what_was_found_and_says_what_was_not(
    visitor: Any, path: str, finish: Callable[..., None]
) -> None:
    found = {
        **NOTHING,
        "dates": [{"text": "4 March 2026", "iso": "2026-03-04"}, {"text": "in May", "iso": None}],
        "amounts": [{"text": "2.5 million euro", "value": "2500000", "currency": "EUR"}],
    }
    finish(id_of(path), {"analysis": "extraction", "answer": found, **LOCAL})
    text = visitor.see(path).said(".answer")
    assert "4 March 2026 2026-03-04 in May" in text
    assert "2500000 EUR" in text
    assert "Only a language model recognises them" in text


def test_an_answer_that_looks_like_markup_is_shown_as_text(
    visitor: Any, path: str, finish: Callable[..., None]
) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    answer = {"title": hostile, "summary": hostile, "key_points": [hostile]}
    finish(id_of(path), {"analysis": "summary", "answer": answer, **MODEL, "model": hostile})
    page = visitor.see(path)
    assert page.said(".said") == hostile
    assert not page.css("main img")


def test_pictures_are_shown_with_size_saving_and_download(
    visitor: Any, finish: Callable[..., None], picture: bytes
) -> None:
    path = visitor.send("images", {"file": (picture, "<b>red</b>.png"), "widths": "10"}).location
    rendition = {"file_id": "f", "width": 1280, "height": 854, "bytes": 15_360, "media_type": "image/webp"}
    finish(id_of(path), {"original": {"file_id": "o", "bytes": 145_000}, "renditions": [rendition]})
    page = visitor.see(path)
    assert page.said(".about") == "b>.png"
    cells = [" ".join(cell.text().split()) for cell in page.css("tbody td")]
    assert cells == ["", "1280 × 854", "15 KB", "89 %", "Download"]
    assert page.one("td a").attributes["href"] == "/files/f?download"


def test_a_mail_shows_its_receipt_and_where_to_read_it(
    visitor: Any, jobs: Jobs, finish: Callable[..., None], configure: Callable[..., Settings], database: str
) -> None:
    visitor.send("contact", {"sample": "1"})
    job_id = jobs()[0].id
    finish(job_id, {"message_id": "<1@example.test>", "code": 250, "server": "127.0.0.1"})
    assert "outbox" not in visitor.client.get(f"/jobs/{job_id}").text
    configure(DATABASE_URL=database, OUTBOX_URL="http://127.0.0.1:8025")
    page = visitor.see(f"/jobs/{job_id}")
    assert page.said(".facts code") == "<1@example.test>"
    assert page.one("main .prose a").attributes["href"] == "http://127.0.0.1:8025"
