"""A kind of letter is replayed behind a canary and at a pace."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from db import ledger
from db.engine import transaction
from db.ledger.tables import dead_letters
from db.types import now
from tasks.dead_letters import Ramp, ramp, start_ramp
from tasks.engine.runner import run_job
from tests.support.console import Console
from tests.support.databases import on_both_databases
from tests.support.jobs import scripted
from tests.support.ledger import job_row, pass_time
from tests.support.ledger import letters as letter_rows
from tests.support.web import Client

Letters = Callable[..., list[tuple[str, str]]]


def begin(*, per_minute: int = 60) -> Ramp:
    """Start a ramp over the letters there are."""
    return start_ramp(letter_rows()[0].fingerprint, per_minute=per_minute, actor="token:1")


def step(begun: Ramp) -> Any:
    """Run the ramp's job as if its time had come; returns its row."""
    assert begun.job_id is not None
    pass_time(begun.job_id)
    run_job(ramp, begun.job_id)
    return job_row(begun.job_id)


def a_minute_passes() -> None:
    """For what was replayed so far."""
    with transaction() as connection:
        connection.execute(
            update(dead_letters).where(dead_letters.c.resolution.is_not(None)).values(resolved_at=now(-61))
        )


def resolutions() -> list[str | None]:
    """Of all letters, oldest first."""
    return [row.resolution for row in letter_rows()]


@on_both_databases
def test_the_rest_waits_for_the_canary_without_being_charged(database: str, letters: Letters) -> None:
    made = letters(4)
    begun = begin()
    assert (begun.canary_job_id, begun.letters) == (made[0][0], 4)
    assert resolutions() == ["replayed", None, None, None]
    row = step(begun)
    assert (row.state, row.error_code, row.failures) == ("waiting", "not_yet", 0)
    assert resolutions() == ["replayed", None, None, None]


@on_both_databases
def test_after_the_canary_the_rest_follows_at_the_pace(database: str, letters: Letters) -> None:
    made = letters(6)
    begun = begin(per_minute=3)
    run_job(scripted, begun.canary_job_id)
    row = step(begun)
    # The canary was one of this minute's three.
    assert resolutions() == ["replayed"] * 3 + [None] * 3
    assert (row.state, row.error_message) == ("waiting", "3 of 5 letters are left.")
    first, second = (job_row(job_id) for job_id, _ in made[1:3])
    assert (first.state, second.state) == ("queued", "waiting")
    apart = second.due_at - first.due_at
    assert timedelta(seconds=19) < apart < timedelta(seconds=21)

    step(begun)
    assert resolutions() == ["replayed"] * 3 + [None] * 3, "the minute is not over"
    a_minute_passes()
    row = step(begun)
    assert resolutions() == ["replayed"] * 6
    assert (row.state, row.result) == ("succeeded", {"outcome": "replayed", "letters": 5, "skipped": 0})


@on_both_databases
def test_when_the_canary_dies_again_the_rest_stays(database: str, letters: Letters) -> None:
    letters(3, act="refuse")
    begun = begin()
    run_job(scripted, begun.canary_job_id)
    row = step(begun)
    assert row.state == "succeeded"
    assert row.result == {"outcome": "canary_failed", "canary": "dead", "left": 2}
    assert resolutions()[:3] == ["replayed", None, None]


def test_letters_that_came_later_are_not_replayed(database: str, letters: Letters) -> None:
    letters(2)
    begun = begin()
    letters(1)
    run_job(scripted, begun.canary_job_id)
    assert step(begun).state == "succeeded"
    assert resolutions() == ["replayed", "replayed", None]


def test_a_cancelled_ramp_leaves_the_rest_open(console: Console, letters: Letters) -> None:
    letters(3)
    begun = begin()
    console.act(f"/console/jobs/{begun.job_id}/cancel")
    assert begun.job_id is not None
    run_job(scripted, begun.canary_job_id)
    run_job(ramp, begun.job_id)
    assert job_row(begun.job_id).state == "cancelled"
    assert resolutions() == ["replayed", None, None]


def test_a_letter_that_somebody_else_settles_meanwhile_is_passed_over(
    database: str, letters: Letters
) -> None:
    made = letters(3)
    begun = begin()
    with transaction() as connection:
        ledger.discard(connection, made[1][1], actor="cli:ada", note="no")
    run_job(scripted, begun.canary_job_id)
    assert step(begun).result == {"outcome": "replayed", "letters": 1, "skipped": 1}
    assert resolutions() == ["replayed", "discarded", "replayed"]


@on_both_databases
def test_a_letter_whose_key_a_newer_job_took_is_skipped_and_counted(database: str, letters: Letters) -> None:
    made = letters(3)
    with transaction() as connection:
        ledger.reserve(connection, "order-1", fingerprint="content")
        ledger.bind(connection, "order-1", made[1][0])
    begun = begin()
    with transaction() as connection:
        assert ledger.reserve(connection, "order-1", fingerprint="content") is None
        newer = ledger.enqueue(connection, [ledger.NewJob(scripted.name, "default", {}, 1, "token:1")])[0]
        ledger.bind(connection, "order-1", newer)
    run_job(scripted, begun.canary_job_id)
    assert step(begun).result == {"outcome": "replayed", "letters": 1, "skipped": 1}
    assert resolutions() == ["replayed", "superseded", "replayed"]
    assert job_row(made[1][0]).state == "dead"


def test_one_kind_has_one_ramp_at_a_time(database: str, letters: Letters) -> None:
    letters(3)
    begin()
    with pytest.raises(ledger.WrongResolution, match="already"):
        begin()


def test_a_single_letter_needs_no_ramp(database: str, letters: Letters) -> None:
    [(job_id, _)] = letters(1)
    assert begin() == Ramp(job_id, None, 1)


def test_unknown_outcomes_are_never_replayed_together(database: str, letters: Letters) -> None:
    letters(2, reason="outcome_unknown")
    with pytest.raises(ledger.WrongResolution):
        begin()
    assert resolutions() == [None, None]


def test_the_console_shows_the_ramp_and_can_stop_it(console: Console, letters: Letters) -> None:
    letters(3)
    fingerprint = letter_rows()[0].fingerprint
    response = console.act(
        "/console/dead-letters/replay", fingerprint=fingerprint, per_minute="10", reason="mended"
    )
    page = console.get(response.location).text
    assert "The other 2 follow once its job has succeeded." in page
    assert "They are being replayed" in page
    assert "Stop the replay" in page
    again = console.act("/console/dead-letters/replay", fingerprint=fingerprint, per_minute="10")
    assert again.status_code == 409


def test_the_api_begins_a_ramp(
    client: Client, token: Callable[..., dict[str, str]], letters: Letters
) -> None:
    made = letters(3)
    body = {"fingerprint": letter_rows()[0].fingerprint, "per_minute": 5}
    headers = token("operate")
    response = client.post("/api/v1/dead-letters/replay", json=body, headers=headers)
    assert response.status_code == 202
    assert response.json["letters"] == 3
    assert response.json["canary"]["id"] == made[0][0]
    assert response.json["ramp"]["state"] == "waiting"
    assert client.post("/api/v1/dead-letters/replay", json=body, headers=headers).status_code == 409
    unknown = {"fingerprint": "0123456789abcdef"}
    assert client.post("/api/v1/dead-letters/replay", json=unknown, headers=headers).status_code == 404


def test_the_api_takes_another_payload_and_names_what_does_not_fit(
    client: Client, token: Callable[..., dict[str, str]], letters: Letters
) -> None:
    [(job_id, letter_id)] = letters()
    path, headers = f"/api/v1/dead-letters/{letter_id}/replay", token("operate")
    refused = client.post(path, json={"payload": {"record": 1}}, headers=headers)
    assert refused.status_code == 422
    assert refused.json["errors"][0]["field"] == "payload.record"
    assert client.post(path, json={"payload": {"record": "new"}}, headers=headers).status_code == 200
    assert job_row(job_id).payload["record"] == "new"


def test_the_command_begins_a_ramp(app: Flask, letters: Letters) -> None:
    letters(3)
    run = app.test_cli_runner().invoke
    fingerprint = letter_rows()[0].fingerprint
    told = run(args=["dead-letters", "replay", "--fingerprint", fingerprint, "--per-minute", "7"])
    assert told.exit_code == 0, told.output
    assert "The other 2 follow, 7 a minute, if it succeeds." in told.output
    assert run(args=["dead-letters", "replay"]).exit_code == 2


def test_the_command_edits_a_payload(app: Flask, letters: Letters) -> None:
    [(job_id, letter_id)] = letters()
    run = app.test_cli_runner().invoke
    wrong = run(args=["dead-letters", "edit", letter_id, "--payload", "{}"])
    assert wrong.exit_code == 1
    assert "Record is missing." in wrong.output
    right = run(args=["dead-letters", "edit", letter_id, "--payload", '{"record": "new"}'])
    assert right.exit_code == 0, right.output
    assert job_row(job_id).payload["record"] == "new"
