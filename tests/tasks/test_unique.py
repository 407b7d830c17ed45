"""Unique jobs: one per business key, and replacing what has not started."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update

from db import ledger
from db.engine import reading, transaction
from db.ledger.tables import jobs
from db.models import IdempotencyKey, Job
from db.types import now
from services.retention import remove_expired
from tasks.engine import unit_of_work
from tasks.engine.outbox import LONGEST_UNIQUE_KEY
from tests.support.databases import on_both_databases
from tests.support.jobs import Script, impatient, scripted
from tests.support.ledger import A_FAILURE, at_once, job_row, key_row, letter_for, pass_time, start_job

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]

SOON = timedelta(minutes=10)


def ask(record: str = "a", key: str = "report-1", **options: Any) -> str:
    with unit_of_work() as work:
        return work.enqueue(scripted, Script(record=record), unique_key=key, **options).id


def replace(record: str, **options: Any) -> str:
    return ask(record, replace=True, **options)


def finish(job_id: str) -> None:
    start = start_job(job_id)
    with transaction() as connection:
        ledger.finish(connection, start, None)


def bury(job_id: str) -> None:
    start = start_job(job_id)
    with transaction() as connection:
        ledger.bury(connection, start, A_FAILURE, letter_for(start))


def cancel(job_id: str) -> None:
    with transaction() as connection:
        ledger.cancel(connection, job_id)


def number_of_jobs() -> int:
    with reading() as session:
        return session.scalar(select(func.count()).select_from(Job)) or 0


def test_an_unfinished_job_is_the_answer_for_its_key() -> None:
    job_id = ask()
    assert ask("other") == job_id
    start_job(job_id)
    assert ask() == job_id
    assert job_row(job_id).payload["record"] == "a"


def test_other_keys_and_other_types_are_other_matters() -> None:
    with unit_of_work() as work:
        other = work.enqueue(impatient, Script(record="a"), unique_key="report-1").id
    assert len({ask(), ask(key="report-2"), other}) == 3


@pytest.mark.parametrize("end", [finish, bury, cancel])
def test_a_job_that_ended_frees_its_key(end: Callable[[str], None]) -> None:
    job_id = ask()
    end(job_id)
    again = ask()
    assert again != job_id
    assert ask() == again


def test_a_success_stands_for_as_long_as_was_asked() -> None:
    job_id = ask(unique_for=SOON)
    finish(job_id)
    assert ask(unique_for=SOON) == job_id
    with transaction() as connection:
        connection.execute(update(jobs).values(finished_at=now(-SOON)))
    assert ask(unique_for=SOON) != job_id


def test_a_failure_stands_for_nothing() -> None:
    job_id = ask(unique_for=SOON)
    bury(job_id)
    assert ask(unique_for=SOON) != job_id


def test_twenty_at_once_make_one_job() -> None:
    assert len(set(at_once(lambda number: ask(str(number)), times=20))) == 1
    assert number_of_jobs() == 1


def test_a_job_that_was_rolled_back_leaves_its_key_free() -> None:
    def fail() -> None:
        with unit_of_work() as work:
            work.enqueue(scripted, Script(record="a"), unique_key="report-1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert job_row(ask()).state == "queued"
    assert number_of_jobs() == 1


def test_a_repeated_request_and_a_unique_key_agree() -> None:
    job_id = ask()
    with unit_of_work(created_by="token:1") as work:
        assert work.earlier("order-1", "content") is None
        work.enqueue(scripted, Script(record="a"), unique_key="report-1")
    with unit_of_work(created_by="token:1") as work:
        earlier = work.earlier("order-1", "content")
    assert earlier is not None
    assert earlier.id == job_id


class TestReplacing:
    def test_what_waits_gets_the_new_payload_and_time(self) -> None:
        first, second = datetime.now(UTC) + SOON, datetime.now(UTC) + 2 * SOON
        job_id = replace("a", run_at=first)
        assert replace("b", run_at=second) == job_id
        row = job_row(job_id)
        assert (row.state, row.payload["record"]) == ("waiting", "b")
        assert row.due_at == pytest.approx(second, abs=timedelta(seconds=1))
        assert number_of_jobs() == 1

    def test_what_was_parked_may_be_wanted_at_once(self) -> None:
        job_id = replace("a", run_at=datetime.now(UTC) + SOON)
        replace("b")
        row = job_row(job_id)
        assert (row.state, row.payload["record"]) == ("queued", "b")
        pass_time(job_id)
        with transaction() as connection:
            assert [due.id for due in ledger.take_overdue(connection, limit=10)] == [job_id]

    def test_what_is_queued_keeps_the_message_that_is_on_its_way(self) -> None:
        job_id = replace("a")
        with transaction() as connection:
            ledger.mark_published(connection, [job_id])
        before = job_row(job_id)
        replace("b")
        after = job_row(job_id)
        assert (after.published_at, after.due_at) == (before.published_at, before.due_at)
        assert after.payload["record"] == "b"

    def test_a_retry_that_waits_begins_anew(self) -> None:
        job_id = replace("a")
        start = start_job(job_id)
        with transaction() as connection:
            ledger.park(connection, start, A_FAILURE, delay=SOON)
        assert replace("b") == job_id
        row = job_row(job_id)
        assert (row.state, row.failures, row.error_code) == ("queued", 0, None)

    def test_one_that_runs_is_left_and_one_more_is_queued(self) -> None:
        running = replace("a")
        start_job(running)
        job_id = replace("b")
        assert job_id != running
        assert replace("c") == job_id
        assert (job_row(running).payload["record"], job_row(job_id).payload["record"]) == ("a", "c")

    def test_twenty_at_once_leave_one_job_with_one_of_their_payloads(self) -> None:
        assert len(set(at_once(lambda number: replace(str(number)), times=20))) == 1
        assert number_of_jobs() == 1

    def test_a_worker_that_takes_it_meanwhile_runs_what_it_read_and_the_new_is_queued(self) -> None:
        for _ in range(10):
            job_id = replace("old")

            def act(number: int, job_id: str = job_id) -> Any:
                if number == 0:
                    return replace("new")
                with transaction() as connection:
                    return ledger.claim(connection, job_id, worker="w", lease=timedelta(seconds=30))

            standing, start = at_once(act, times=2)
            assert start is not None
            if standing == job_id:
                assert start.payload["record"] == "new"
            else:
                assert (start.payload["record"], job_row(standing).payload["record"]) == ("old", "new")
                cancel(standing)
            with transaction() as connection:
                ledger.finish(connection, start, None)


def test_a_key_is_removed_with_its_job_and_not_before() -> None:
    job_id = ask()
    long_ago = now(-timedelta(days=400))
    with transaction() as connection:
        connection.execute(update(IdempotencyKey).values(created_at=long_ago))
    remove_expired(lambda: None)
    assert key_row("unique:tests.scripted:report-1") is not None
    finish(job_id)
    with transaction() as connection:
        connection.execute(update(jobs).values(finished_at=long_ago))
    remove_expired(lambda: None)
    assert key_row("unique:tests.scripted:report-1") is None
    assert ask() != job_id


@pytest.mark.parametrize(
    "options",
    [
        {"key": "k" * (LONGEST_UNIQUE_KEY + 1)},
        {"unique_for": SOON, "replace": True},
        {"unique_for": timedelta(days=30)},
    ],
)
def test_what_cannot_be_held_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="unique"):
        ask(**options)
