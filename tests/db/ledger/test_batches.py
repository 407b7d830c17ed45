"""Batches: what comes after the last job, once; and cancelling as a whole."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from db import ledger
from db.engine import reading, transaction
from db.models import Batch, Job
from tests.support.databases import on_both_databases
from tests.support.ledger import A_FAILURE, add_job, at_once, job_row, letter_for, start_job

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]

THEN = ledger.NewJob("tests.scripted", "email", {"record": "then"}, 3, created_by="token:1", priority="high")


def open_batch(total: int, *, then: ledger.NewJob | None = THEN) -> tuple[str, list[str]]:
    with transaction() as connection:
        batch_id = ledger.open_batch(connection, kind="test", total=total, created_by="token:1")
        if then is not None:
            ledger.await_batch(connection, batch_id, then)
    return batch_id, [add_job(batch_id=batch_id, position=position) for position in range(total)]


def complete() -> list[str]:
    with transaction() as connection:
        return ledger.complete_batches(connection)


def finish(job_id: str) -> None:
    start = start_job(job_id)
    with transaction() as connection:
        ledger.finish(connection, start, None)


def bury(job_id: str) -> str:
    start = start_job(job_id)
    with transaction() as connection:
        return ledger.bury(connection, start, A_FAILURE, letter_for(start))


def cancel(batch_id: str) -> int:
    with transaction() as connection:
        return ledger.cancel_some(connection, batch_id)


def tally(batch_id: str) -> dict[str, int]:
    with reading() as session:
        return {
            state: count for state, count in ledger.tally(session.connection(), batch_id).items() if count
        }


def row(batch_id: str) -> Any:
    with reading() as session:
        return session.get(Batch, batch_id)


def test_what_comes_after_is_enqueued_once_when_the_last_job_is_final() -> None:
    batch_id, ids = open_batch(3)
    finish(ids[0])
    bury(ids[1])
    assert complete() == []
    assert row(batch_id).completed_at is None
    finish(ids[2])
    (then,) = complete()
    assert complete() == []
    found = job_row(then)
    assert (found.type, found.queue, found.priority) == ("tests.scripted", "email", "high")
    assert (found.payload, found.payload_version, found.created_by) == ({"record": "then"}, 3, "token:1")
    assert found.batch_id is None
    assert row(batch_id).completed_at is not None
    assert tally(batch_id) == {"succeeded": 2, "dead": 1}


def test_relays_at_once_complete_each_batch_once() -> None:
    for _ in range(20):
        _, (job_id,) = open_batch(1)
        finish(job_id)
    found = [id_ for ids in at_once(lambda _: complete(), times=4) for id_ in ids]
    assert len(found) == 20
    with reading() as session:
        assert session.scalar(select(func.count()).select_from(Job).where(Job.queue == "email")) == 20


def test_the_last_jobs_of_a_batch_may_end_at_once() -> None:
    batch_id, ids = open_batch(4)

    def act(number: int) -> list[str]:
        finish(ids[number])
        return complete()

    found = [id_ for made in at_once(act, times=4) for id_ in made] + complete()
    assert len(found) == 1
    assert row(batch_id).completed_at is not None


def test_a_completion_that_is_rolled_back_happens_later() -> None:
    _, (job_id,) = open_batch(1)
    finish(job_id)
    with transaction() as connection:
        assert len(ledger.complete_batches(connection)) == 1
        connection.rollback()
    assert len(complete()) == 1


def test_a_batch_nobody_waits_for_is_left_alone() -> None:
    batch_id, (job_id,) = open_batch(1, then=None)
    finish(job_id)
    assert complete() == []
    assert row(batch_id).completed_at is None


def test_a_job_replayed_before_the_end_is_waited_for_and_one_replayed_after_it_changes_nothing() -> None:
    _, ids = open_batch(2)
    letter = bury(ids[0])
    with transaction() as connection:
        ledger.replay(connection, letter, actor="cli:ada")
    finish(ids[1])
    assert complete() == []
    again = bury(ids[0])
    assert len(complete()) == 1
    with transaction() as connection:
        ledger.replay(connection, again, actor="cli:ada")
    finish(ids[0])
    assert complete() == []


def test_cancelling_reaches_all_that_is_unfinished_and_nothing_else() -> None:
    batch_id, ids = open_batch(5)
    other = add_job()
    finish(ids[0])
    bury(ids[1])
    running = start_job(ids[2])
    with transaction() as connection:
        ledger.hold_back(connection, ids[3], delay=timedelta(hours=1))
    assert (cancel(batch_id), cancel(batch_id)) == (3, 0)
    assert tally(batch_id) == {"succeeded": 1, "dead": 1, "running": 1, "cancelled": 2}
    assert job_row(ids[3]).error_code == "cancelled"
    assert job_row(other).state == "queued"
    with transaction() as connection:
        assert not ledger.checkpoint(connection, running, 50)
        assert job_row(ids[2]).due_at is not None
        ledger.stop(connection, running)
    assert len(complete()) == 1


def test_a_large_batch_is_cancelled_in_portions() -> None:
    batch_id, _ = open_batch(0)
    new = ledger.NewJob("tests.scripted", "default", {}, 1, created_by="token:1", batch_id=batch_id)
    with transaction() as connection:
        ledger.enqueue(connection, [new] * 2100)
    assert [cancel(batch_id) for _ in range(4)] == [1000, 1000, 100, 0]


def test_jobs_that_are_claimed_while_their_batch_is_cancelled_are_asked_to_stop() -> None:
    batch_id, ids = open_batch(30)

    def act(number: int) -> int:
        if number == 0:
            asked = 0
            while some := cancel(batch_id):
                asked += some
            return asked
        started = 0
        for job_id in ids[number - 1 :: 3]:
            with transaction() as connection:
                start = ledger.claim(connection, job_id, worker="w", lease=timedelta(seconds=30))
            started += start is not None
        return started

    asked, *started = at_once(act, times=4)
    assert asked == 30
    counts = tally(batch_id)
    assert counts.get("cancelled", 0) + counts.get("running", 0) == 30
    assert counts.get("running", 0) == sum(started)
    assert all(job_row(job_id).cancel_requested_at for job_id in ids)
