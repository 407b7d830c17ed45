"""How full a queue is."""

from datetime import timedelta

import pytest
from sqlalchemy import update

from db import ledger
from db.engine import reading, transaction
from db.ledger.tables import jobs
from db.types import now
from tests.support.databases import on_both_databases
from tests.support.ledger import add_job, at_once, start_job

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]


def pressure(queue: str = "default", most: int = 100) -> ledger.Pressure:
    with reading() as session:
        return ledger.pressure(session.connection(), queue, most=most)


def publish(job_id: str, ago: timedelta) -> None:
    with transaction() as connection:
        ledger.mark_published(connection, [job_id])
        connection.execute(update(jobs).where(jobs.c.id == job_id).values(published_at=now(-ago)))


def test_only_jobs_that_wait_for_a_worker_count() -> None:
    for _ in range(3):
        add_job()
    add_job(queue="email")
    start_job()
    held = add_job()
    with transaction() as connection:
        ledger.hold_back(connection, held, delay=timedelta(hours=1))
    cancelled = add_job()
    with transaction() as connection:
        ledger.cancel(connection, cancelled)
    assert pressure().depth == 3
    assert pressure("email").depth == 1
    assert pressure("ai") == ledger.Pressure(0, timedelta())


def test_the_depth_is_counted_no_further_than_asked_for() -> None:
    for _ in range(5):
        add_job()
    assert pressure(most=3).depth == 3


def test_the_age_is_that_of_the_oldest_message_and_a_retry_is_as_old_as_its_new_one() -> None:
    old, new, unpublished = add_job(), add_job(), add_job()
    publish(old, timedelta(minutes=20))
    publish(new, timedelta(minutes=10))
    with transaction() as connection:
        connection.execute(
            update(jobs).where(jobs.c.id == unpublished).values(created_at=now(-timedelta(days=1)))
        )
    assert pressure().age == pytest.approx(timedelta(minutes=20), abs=timedelta(seconds=5))
    start_job(old)
    assert pressure().age == pytest.approx(timedelta(minutes=10), abs=timedelta(seconds=5))


def test_refusals_add_up_however_many_write_them() -> None:
    def write(_: int) -> None:
        with transaction() as connection:
            ledger.count_refused(connection, {("email", "low"): 2, ("ai", "high"): 1})

    at_once(write, times=4)
    with reading() as session:
        assert ledger.refused(session.connection()) == {("email", "low"): 8, ("ai", "high"): 4}
