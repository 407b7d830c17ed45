"""What the relay takes, and that several relays never take the same at once."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from db import ledger
from db.engine import transaction
from db.ledger.overdue import PATIENCE, RELAY_LEASE
from tests.support.databases import on_both_databases
from tests.support.ledger import (
    A_FAILURE,
    A_LEASE,
    add_job,
    at_once,
    bury_job,
    expire,
    job_row,
    pass_time,
    start_job,
)

Move = Callable[[ledger.Start], None]

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]


def take(limit: int = 100) -> list[str]:
    with transaction() as connection:
        return [due.id for due in ledger.take_overdue(connection, limit=limit)]


def mark(*job_ids: str) -> None:
    with transaction() as connection:
        ledger.mark_published(connection, job_ids)


def lose(start: ledger.Start) -> None:
    with transaction() as connection:
        ledger.lose(connection, start, A_FAILURE)


def release(start: ledger.Start) -> None:
    with transaction() as connection:
        ledger.release(connection, start)


def test_a_new_job_belongs_to_its_own_process_for_a_moment() -> None:
    job_id = add_job()
    assert take() == []
    pass_time(job_id)
    assert take() == [job_id]


def test_what_was_taken_is_held_for_this_relay_alone_and_due_again_if_it_dies() -> None:
    job_id = add_job()
    pass_time(job_id)
    assert take() == [job_id]
    assert take() == []
    pass_time(job_id, RELAY_LEASE)
    assert take() == [job_id]


def test_a_published_job_is_left_to_the_broker_for_a_while() -> None:
    job_id = add_job()
    mark(job_id)
    row = job_row(job_id)
    assert row.published_at is not None
    assert row.due_at - row.published_at == pytest.approx(PATIENCE, abs=timedelta(seconds=1))
    assert take() == []


def test_a_job_that_a_worker_was_faster_to_start_is_not_marked() -> None:
    start = start_job()
    before = job_row(start.job_id)
    mark(start.job_id)
    assert job_row(start.job_id) == before


@pytest.mark.parametrize("move", [lose, release], ids=["lost", "released"])
def test_a_job_that_a_worker_took_and_gave_back_meanwhile_is_not_marked(move: Move) -> None:
    start = start_job()
    move(start)
    mark(start.job_id)
    assert job_row(start.job_id).published_at is None
    assert take() == [start.job_id]


def test_a_parked_job_is_queued_when_its_time_has_come_and_not_before() -> None:
    early = add_job(run_at=datetime.now(UTC) + timedelta(hours=1))
    due = add_job(run_at=datetime.now(UTC) - timedelta(seconds=1))
    assert take() == [due]
    assert job_row(due).state == "queued"
    assert job_row(early).state == "waiting"


def test_running_and_finished_jobs_are_never_taken() -> None:
    running = start_job()
    expire(running)
    bury_job()
    assert take() == []
    assert job_row(running.job_id).state == "running"


def test_the_longest_overdue_are_taken_first_and_come_in_order_of_arrival() -> None:
    newest, old, oldest = add_job(), add_job(), add_job()
    for job_id, hours in ((newest, 1), (old, 2), (oldest, 3)):
        pass_time(job_id, timedelta(hours=hours))
    assert take(limit=2) == [old, oldest]
    assert take(limit=2) == [newest]


def test_no_more_is_taken_at_once_than_asked_for() -> None:
    # PostgreSQL may run a subquery again for each row, and each time it finds others: it did with so many.
    with transaction() as connection:
        new = ledger.NewJob("tests.scripted", "default", {}, 1, created_by="token:1")
        ledger.enqueue(connection, [new] * 2100, grace=timedelta())
    assert [len(take(limit=1000)) for _ in range(4)] == [1000, 1000, 100, 0]


def test_what_is_taken_tells_where_it_goes() -> None:
    job_id = add_job(type="emails.send_email", queue="email", priority="high")
    pass_time(job_id)
    with transaction() as connection:
        assert ledger.take_overdue(connection, limit=1) == [
            ledger.Due(job_id, "emails.send_email", "email", "high")
        ]


def test_the_next_one_due_is_the_earliest_of_those_that_are_not_yet() -> None:
    assert next_due() is None
    pass_time(add_job())
    assert next_due() is None
    add_job(run_at=datetime.now(UTC) + timedelta(hours=2))
    add_job(run_at=datetime.now(UTC) + timedelta(hours=1))
    wait = next_due()
    assert wait is not None
    assert timedelta(minutes=59) < wait < timedelta(minutes=61)


def next_due() -> timedelta | None:
    with transaction() as connection:
        return ledger.next_due(connection)


def test_relays_at_once_never_take_the_same_job() -> None:
    with transaction() as connection:
        new = ledger.NewJob("tests.scripted", "default", {}, 1, created_by="token:1")
        ids = ledger.enqueue(connection, [new] * 200, grace=timedelta())

    def relay(_: int) -> list[str]:
        mine: list[str] = []
        while batch := take(limit=7):
            mine += batch
        return mine

    taken = [job_id for mine in at_once(relay, times=4) for job_id in mine]
    assert sorted(taken) == sorted(ids)


def test_a_relay_and_a_worker_at_once_leave_the_job_with_the_worker() -> None:
    job_ids = [add_job() for _ in range(20)]
    for job_id in job_ids:
        pass_time(job_id)

    def act(number: int) -> int:
        if number == 0:
            return len(take())
        with transaction() as connection:
            starts = [ledger.claim(connection, id_, worker="w", lease=A_LEASE) for id_ in job_ids]
        return len([start for start in starts if start])

    _, started = at_once(act, times=2)
    assert started == len(job_ids)
    assert {job_row(job_id).state for job_id in job_ids} == {"running"}
