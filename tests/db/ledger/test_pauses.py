"""Pausing a queue: its jobs stay, nothing of theirs is published, and they keep their place."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from db import ledger
from db.engine import reading, transaction
from db.models import AuditEntry
from tests.support.databases import on_both_databases
from tests.support.ledger import add_job, at_once, job_row, pass_time, start_job

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]


def pause(queue: str = "default") -> bool:
    with transaction() as connection:
        return ledger.pause(connection, queue, actor="cli:ada")


def resume(queue: str = "default") -> bool:
    with transaction() as connection:
        return ledger.resume(connection, queue, actor="cli:bob")


def take() -> list[str]:
    with transaction() as connection:
        return [due.id for due in ledger.take_overdue(connection, limit=10)]


def put_back(*job_ids: str) -> set[str]:
    with transaction() as connection:
        return ledger.put_back(connection, job_ids)


def test_a_relay_takes_nothing_of_a_paused_queue_and_everything_of_the_others() -> None:
    resting, other = add_job(), add_job(queue="email")
    pass_time(resting)
    pass_time(other)
    due_at = job_row(resting).due_at
    pause()
    assert take() == [other]
    assert job_row(resting).due_at == due_at
    resume()
    assert take() == [resting]


def test_a_job_whose_message_came_anyway_is_put_back_without_a_start() -> None:
    job_id = add_job()
    with transaction() as connection:
        ledger.mark_published(connection, [job_id])
    pause()
    assert put_back(job_id) == {job_id}
    row = job_row(job_id)
    assert (row.state, row.attempts, row.published_at) == ("queued", 0, None)
    assert take() == []
    resume()
    assert take() == [job_id]


def test_what_waits_longest_goes_first_when_the_queue_is_resumed() -> None:
    ids = [add_job() for _ in range(4)]
    pause()
    # Messages come in any order.
    for job_id in (ids[2], ids[0], ids[3], ids[1]):
        put_back(job_id)
    resume()
    with transaction() as connection:
        first = ledger.take_overdue(connection, limit=2)
    assert [due.id for due in first] == ids[:2]


def test_nothing_is_put_back_of_a_queue_that_goes_on() -> None:
    job_id = add_job()
    pause()
    resume()
    assert put_back(job_id) == set()


def test_a_running_and_a_parked_job_are_left_alone() -> None:
    running, parked = start_job(), add_job()
    with transaction() as connection:
        ledger.hold_back(connection, parked, delay=timedelta(minutes=5))
    pause()
    assert put_back(running.job_id, parked) == set()
    with transaction() as connection:
        ledger.finish(connection, running, None)
    assert job_row(running.job_id).state == "succeeded"
    assert job_row(parked).state == "waiting"


def test_each_act_is_in_the_audit_log_once_however_many_ask() -> None:
    assert sorted(at_once(lambda _: pause(), times=4)) == [False, False, False, True]
    assert sorted(at_once(lambda _: resume(), times=4)) == [False, False, False, True]
    with reading() as session:
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
    assert [(entry.action, entry.actor, entry.target) for entry in entries] == [
        ("queue.paused", "cli:ada", "default"),
        ("queue.resumed", "cli:bob", "default"),
    ]
    assert entries[1].details["paused_by"] == "cli:ada"


def test_who_paused_first_is_kept() -> None:
    pause()
    with transaction() as connection:
        assert not ledger.pause(connection, "default", actor="cli:bob")
        assert ledger.pauses(connection)["default"].by == "cli:ada"
