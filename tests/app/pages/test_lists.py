"""Batches, and the list of one's own jobs."""

from collections.abc import Callable
from typing import Any

import pytest

from db.models import Job

Jobs = Callable[[], list[Job]]


def documents(count: int) -> dict[str, Any]:
    """A form with so many short documents."""
    files = [(f"Document {number} is fine.".encode(), f"{number}.txt") for number in range(1, count + 1)]
    return {"files": files, "analysis": "sentiment"}


def test_a_batch_tells_how_many_are_finished_and_how_many_failed(
    visitor: Any, jobs: Jobs, finish: Callable[..., None], bury: Callable[..., str]
) -> None:
    path = visitor.send("documents", documents(5)).location
    first, second, *_ = jobs()
    answer = {"label": "positive", "score": 0.5, "reasons": []}
    finish(first.id, {"analysis": "sentiment", "answer": answer, "engine": "local"})
    bury(second.id)
    page = visitor.see(path)
    assert page.said("#standing") == "2 of 5 finished, 1 failed"
    assert (page.value("progress"), page.one("progress").attributes["max"]) == ("2", "5")
    rows = [" ".join(row.text(separator=" ").split()) for row in page.css("tbody tr")]
    assert rows[0].startswith("1 Done 1.txt Positive, +0.50")
    assert rows[1].startswith("2 Failed 2.txt The mail server refuses this address.")
    assert rows[2].startswith("3 Queued 3.txt")


def test_the_two_mails_of_a_message_are_told_apart(visitor: Any) -> None:
    page = visitor.see(visitor.send("contact", {"sample": "1"}).location)
    names = [link.text() for link in page.css("tbody a")]
    assert names == ["Your message to the owner", "Acknowledgement to you"]
    listed = visitor.see("/jobs").css(".jobs > li > div > a")
    assert [link.text() for link in listed] == names[::-1]
    assert [visitor.see(link.attributes["href"]).said("h1") for link in listed] == names[::-1]


def test_the_page_one_is_on_or_below_is_marked_in_the_navigation(visitor: Any) -> None:
    batch = visitor.send("contact", {"sample": "1"}).location
    job = visitor.see(batch).css("tbody a")[0].attributes["href"]
    for path, marked in (("/", "Home"), ("/jobs", "Your jobs"), (batch, "Your jobs"), (job, "Your jobs")):
        assert visitor.see(path).said("nav [aria-current]") == marked
    for form in ("contact", "images", "documents"):
        refused = visitor.send(form, {})
        assert (refused.status, refused.said("nav [aria-current]")) == (422, "Home")


def test_a_batch_of_a_hundred_lists_them_all_in_order(visitor: Any) -> None:
    page = visitor.see(visitor.send("documents", documents(100)).location)
    assert [link.text() for link in page.css("tbody a")] == [f"{number}.txt" for number in range(1, 101)]


def test_a_batch_reloads_itself_without_scripts_until_it_is_done(
    visitor: Any, jobs: Jobs, bury: Callable[..., str]
) -> None:
    path = visitor.send("documents", documents(2)).location
    assert 'http-equiv="refresh"' in visitor.client.get(path).text
    for job in jobs():
        bury(job.id)
    assert "http-equiv" not in visitor.client.get(path).text
    assert visitor.client.get(f"{path}.json").json["done"] is True


def test_what_is_left_of_a_batch_is_cancelled_by_a_button_that_then_is_gone(
    visitor: Any, jobs: Jobs, finish: Callable[..., None]
) -> None:
    path = visitor.send("documents", documents(3)).location
    first, *_ = jobs()
    finish(first.id)
    token = visitor.see(path).value("input[name=csrf_token]")
    assert visitor.client.post(f"{path}/cancel", data={"csrf_token": token}).status_code == 303
    assert sorted(job.state for job in jobs()) == ["cancelled", "cancelled", "succeeded"]
    page = visitor.see(path)
    assert page.said("#standing") == "3 of 3 finished, 2 cancelled"
    assert not page.css("#cancel")


def test_nobody_else_sees_or_cancels_a_batch(visitor: Any, stranger: Any) -> None:
    path = visitor.send("documents", documents(2)).location
    for address in (path, f"{path}.json", f"{path}/events"):
        assert stranger.see(address).status == 404
    token = stranger.hidden("documents")["csrf_token"]
    assert stranger.client.post(f"{path}/cancel", data={"csrf_token": token}).status_code == 404


def test_a_newcomer_is_told_what_will_be_listed_and_how_to_begin(visitor: Any) -> None:
    page = visitor.see("/jobs")
    assert page.said(".empty h2") == "No jobs yet"
    assert page.one(".empty a").attributes["href"] == "/"


def test_own_jobs_are_listed_newest_first_and_nobody_elses(
    visitor: Any, stranger: Any, picture: bytes
) -> None:
    stranger.send("contact", {"sample": "1"})
    visitor.send("documents", documents(1))
    visitor.send("images", {"file": (picture, "red.png"), "widths": "10"})
    page = visitor.see("/jobs")
    assert [link.text() for link in page.css(".jobs > li > div > a")] == [
        "Resize a picture",
        "Analyse a document",
    ]
    assert page.one(".jobs p a").attributes["href"].startswith("/batches/")


def test_a_long_list_is_turned_page_by_page(visitor: Any, jobs: Jobs) -> None:
    visitor.send("documents", documents(60))
    first = visitor.see("/jobs")
    second = visitor.see(first.one("a[rel=next]").attributes["href"])
    listed = [
        link.attributes["href"] for page in (first, second) for link in page.css(".jobs > li > div > a")
    ]
    assert listed == [f"/jobs/{job.id}" for job in reversed(jobs())]
    assert not second.css("a[rel=next]")


@pytest.mark.parametrize("before", ["x", "00000000-0000-0000-0000-000000000000"])
def test_a_page_after_a_job_that_is_not_there_is_404(visitor: Any, before: str) -> None:
    assert visitor.see(f"/jobs?before={before}").status == 404
