"""Pausing and resuming from the overview."""

from db import ledger
from db.engine import reading
from tests.support.console import Console


def paused() -> dict[str, ledger.Pause]:
    with reading() as session:
        return ledger.pauses(session.connection())


def test_a_pause_is_said_on_the_overview_and_ended_there(console: Console) -> None:
    answer = console.act("/console/queues/ai/pause")
    assert (answer.status_code, answer.location) == (303, "/console")
    assert paused()["ai"].by == "console:operator"
    page = console.get("/console").text
    assert "ai is paused. Jobs that run, run on." in page
    assert "by console:operator" in page
    console.act("/console/queues/ai/resume")
    assert paused() == {}
    assert "ai goes on." in console.get("/console").text


def test_a_second_click_says_that_nothing_changed(console: Console) -> None:
    for _ in range(2):
        console.act("/console/queues/ai/pause")
    assert "ai was paused before." in console.get("/console").text


def test_without_the_forms_token_nothing_is_paused(console: Console) -> None:
    assert console.post("/console/queues/ai/pause").status_code == 400
    assert paused() == {}


def test_an_unknown_queue_is_not_found(console: Console) -> None:
    assert console.act("/console/queues/nothing/pause").status_code == 404
