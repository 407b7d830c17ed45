"""A message of the bulk lane that cannot run all its jobs now: the rest is queued as if it had never been claimed."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, event

from db import ledger
from db.engine import transaction
from db.ledger.tables import jobs
from db.types import now
from tasks.engine.bulk import run_bulk
from tasks.engine.message import bundled
from tasks.engine.pauses import forget_pauses
from tasks.engine.settle import take_back
from tasks.engine.verdict import WorkerLost
from tests.support.databases import on_both_databases
from tests.support.ledger import A_LEASE, attempts_of, job_row
from tests.tasks.test_bulk import SEEN, bulk, enqueue, limited, states

NO_TIME = timedelta()


@pytest.fixture(autouse=True)
def _nothing_known() -> None:
    SEEN.clear()
    forget_pauses()


def never_claimed(job_id: str) -> bool:
    row = job_row(job_id)
    return (row.attempts, row.losses, row.started_at, row.lease_token) == (
        0,
        0,
        None,
        None,
    ) and not attempts_of(job_id)


def published_again() -> list[list[str]]:
    """The jobs of each message that the relay would send now."""
    with transaction() as connection:
        return [message.job_ids for message in bundled(ledger.take_overdue(connection, limit=100))]


@on_both_databases
def test_a_message_whose_turn_is_over_gives_back_what_it_did_not_begin(database: str) -> None:
    ids = enqueue("succeed", "succeed", "succeed")
    run_bulk(bulk, ids, turn=NO_TIME)
    assert SEEN == [0]
    assert states(ids) == ["succeeded", "queued", "queued"]
    assert all(never_claimed(job_id) for job_id in ids[1:])
    assert published_again() == [ids[1:]]


def test_what_is_given_back_keeps_what_its_failures_left(database: str) -> None:
    ids = enqueue("succeed", "wait")
    run_bulk(bulk, ids[1:])
    with transaction() as connection:
        connection.execute(jobs.update().values(due_at=now()))
    run_bulk(bulk, ids, turn=NO_TIME)
    row = job_row(ids[1])
    assert (row.state, row.attempts, row.failures, row.error_code) == ("queued", 1, 1, "transient")


def test_a_job_that_was_cancelled_meanwhile_is_not_queued_again(database: str) -> None:
    (job_id,) = enqueue("succeed")
    with transaction() as connection:
        starts = ledger.claim_many(connection, [job_id], worker="w", lease=A_LEASE)
        ledger.cancel(connection, job_id)
        ledger.give_back(connection, starts)
    assert states([job_id]) == ["cancelled"]


@on_both_databases
def test_a_pause_of_the_queue_is_obeyed_in_the_middle_of_a_message(database: str) -> None:
    ids = enqueue("pause", "succeed", "succeed")
    run_bulk(bulk, ids)
    assert states(ids) == ["succeeded", "queued", "queued"]
    assert all(never_claimed(job_id) for job_id in ids[1:])
    assert published_again() == []


def test_what_others_have_taken_over_is_not_begun(database: str) -> None:
    ids = enqueue("lose", "succeed", "succeed")
    run_bulk(bulk, ids)
    assert SEEN == [0]
    assert {job_row(job_id).lease_token for job_id in ids} == {"another's"}


def test_a_job_whose_turn_under_its_limit_is_later_waits_for_it_free_of_charge(
    database: str, broker: str
) -> None:
    ids = enqueue("succeed", "succeed", "succeed", kind=limited)
    run_bulk(limited, ids)
    assert SEEN == [0]
    assert states(ids) == ["succeeded", "waiting", "waiting"]
    assert all(never_claimed(job_id) for job_id in ids[1:])


@on_both_databases
def test_a_crash_counts_against_none_that_did_not_begin_an_effect(database: str) -> None:
    ids = enqueue("succeed", "succeed", "succeed")
    with transaction() as connection:
        starts = ledger.claim_many(connection, ids, worker="w", lease=A_LEASE)
        ledger.begin_effect(connection, starts[0], "effect")
    take_back(starts, WorkerLost())
    first = job_row(ids[0])
    assert (first.state, first.attempts, first.losses) == ("queued", 1, 1)
    assert states(ids[1:]) == ["queued", "queued"]
    assert all(never_claimed(job_id) for job_id in ids[1:])


@on_both_databases
def test_after_a_crash_the_jobs_of_the_message_are_never_started_together_again(database: str) -> None:
    ids = enqueue("succeed", "succeed", "succeed")
    with transaction() as connection:
        starts = ledger.claim_many(connection, ids, worker="w", lease=A_LEASE)
    take_back(starts, WorkerLost())
    # A broker may bring the message itself again.
    run_bulk(bulk, ids)
    assert SEEN == []
    assert published_again() == [[job_id] for job_id in ids]


def test_a_job_that_kills_its_worker_alone_as_well_is_found(database: str) -> None:
    ids = enqueue("succeed", "succeed")
    with transaction() as connection:
        starts = ledger.claim_many(connection, ids, worker="w", lease=A_LEASE)
    take_back(starts, WorkerLost())
    for _ in range(3):
        with transaction() as connection:
            alone = ledger.claim(connection, ids[0], worker="w", lease=A_LEASE)
        assert alone is not None
        take_back([alone], WorkerLost())
    assert (job_row(ids[0]).state, job_row(ids[0]).error_code) == ("dead", "worker_lost")


def test_a_longer_message_takes_no_more_statements(database: str) -> None:
    counts = []
    for size in (2, 4):
        ids = enqueue(*["succeed"] * size)
        forget_pauses()
        statements: list[int] = []

        def count(*_: object, seen: list[int] = statements) -> None:
            seen.append(1)

        event.listen(Engine, "before_cursor_execute", count)
        run_bulk(bulk, ids)
        event.remove(Engine, "before_cursor_execute", count)
        counts.append(len(statements))
    assert counts[0] == counts[1]
