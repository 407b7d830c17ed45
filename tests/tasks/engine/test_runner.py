"""One message, looked at: what is claimed runs, what is not does nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from db import ledger
from db.engine import transaction
from db.types import new_id
from tasks.engine.runner import run_job
from tests.support.databases import on_both_databases
from tests.support.jobs import Script, lines, scripted
from tests.support.ledger import (
    add_job,
    attempts_of,
    expire,
    job_row,
    key_row,
    letters,
    pass_time,
    start_job,
)

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "record"


@pytest.fixture
def enqueue(record: Path) -> Callable[..., str]:
    """A queued scripted job."""

    def enqueue(act: str = "succeed", **script: int) -> str:
        payload = Script(record=str(record), act=act, **script).dump()
        return add_job(type=scripted.name, payload=payload)

    return enqueue


def test_a_message_runs_its_job_once_however_often_it_comes(
    enqueue: Callable[..., str], record: Path
) -> None:
    job_id = enqueue()
    for _ in range(3):
        run_job(scripted, job_id)
    row = job_row(job_id)
    assert (row.state, row.attempts, row.result) == ("succeeded", 1, {"attempt": 1})
    assert lines(record, "start") == [job_id]


def test_a_message_about_nothing_does_nothing() -> None:
    run_job(scripted, new_id())
    assert letters() == []


def test_a_message_for_a_job_that_runs_elsewhere_steps_back(
    enqueue: Callable[..., str], record: Path
) -> None:
    start = start_job(enqueue())
    run_job(scripted, start.job_id)
    row = job_row(start.job_id)
    assert (row.state, row.lease_token, row.attempts) == ("running", start.token, 1)
    assert lines(record, "start") == []


def test_a_message_for_a_job_whose_lease_ran_out_takes_it_over(
    enqueue: Callable[..., str], record: Path
) -> None:
    start = start_job(enqueue())
    expire(start)
    run_job(scripted, start.job_id)
    row = job_row(start.job_id)
    assert (row.state, row.attempts, row.losses) == ("succeeded", 2, 1)
    assert [attempt.outcome for attempt in attempts_of(start.job_id)] == ["lost"]


def test_a_third_lost_start_is_buried_instead_of_run(enqueue: Callable[..., str], record: Path) -> None:
    job_id = enqueue()
    for _ in range(3):
        expire(start_job(job_id))
        run_job(scripted, job_id) if job_row(job_id).losses == 2 else lose(job_id)
    row = job_row(job_id)
    assert (row.state, row.error_code) == ("dead", "worker_lost")
    assert lines(record, "start") == []


def lose(job_id: str) -> None:
    with transaction() as connection:
        (start,) = ledger.expired(connection, job_id=job_id)
        ledger.lose(connection, start, ledger.Failure("lost", "worker_lost", "Lost."))


def test_a_cancelled_job_does_not_run(enqueue: Callable[..., str], record: Path) -> None:
    job_id = enqueue()
    with transaction() as connection:
        ledger.cancel(connection, job_id)
    run_job(scripted, job_id)
    assert job_row(job_id).state == "cancelled"
    assert lines(record, "start") == []


def test_a_parked_job_does_not_run_before_its_time(enqueue: Callable[..., str], record: Path) -> None:
    job_id = enqueue("flaky", failures=1)
    run_job(scripted, job_id)
    run_job(scripted, job_id)
    row = job_row(job_id)
    assert (row.state, row.attempts, row.failures) == ("waiting", 1, 1)
    pass_time(job_id)
    run_job(scripted, job_id)
    row = job_row(job_id)
    assert (row.state, row.attempts, row.error_code) == ("succeeded", 2, None)


@pytest.mark.parametrize(("act", "reason"), [("refuse", "permanent"), ("break", "bug")])
def test_what_cannot_be_retried_leaves_a_letter_and_sets_no_effect(
    enqueue: Callable[..., str], act: str, reason: str
) -> None:
    job_id = enqueue(act)
    run_job(scripted, job_id)
    assert job_row(job_id).state == "dead"
    assert [letter.reason for letter in letters(job_id=job_id)] == [reason]
    assert key_row(f"scripted:{job_id}") is None


def test_retries_end_in_the_dead_letters(enqueue: Callable[..., str]) -> None:
    job_id = enqueue("flaky", failures=100)
    for _ in range(4):
        pass_time(job_id)
        run_job(scripted, job_id)
    row = job_row(job_id)
    assert (row.state, row.attempts) == ("dead", 4)
    assert [letter.reason for letter in letters(job_id=job_id)] == ["retries_exhausted"]
    assert [attempt.number for attempt in attempts_of(job_id)] == [1, 2, 3, 4]


def test_a_payload_that_does_not_fit_is_buried_and_one_from_the_future_waits() -> None:
    wrong = add_job(type=scripted.name, payload={"unheard": "of"})
    newer = add_job(type=scripted.name, payload={"unheard": "of"}, payload_version=99)
    for job_id in (wrong, newer):
        run_job(scripted, job_id)
    assert (job_row(wrong).state, job_row(wrong).error_code) == ("dead", "payload_invalid")
    row = job_row(newer)
    assert (row.state, row.failures, row.error_code) == ("waiting", 0, "payload_too_new")
