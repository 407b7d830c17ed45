"""Jobs of a type that the worker does not know."""

from datetime import timedelta

import pytest

from db import ledger
from db.engine import transaction
from db.types import new_id
from tests.support.databases import on_both_databases
from tests.support.ledger import add_job, job_row, letters, start_job

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]


def set_aside(job_id: str, window: timedelta = timedelta(hours=1)) -> bool:
    with transaction() as connection:
        return ledger.set_aside(connection, job_id, window=window)


def test_a_stranger_waits_for_a_worker_that_knows_it() -> None:
    job_id = add_job(type="tomorrow.task")
    assert set_aside(job_id)
    row = job_row(job_id)
    assert (row.state, row.attempts, row.failures, row.published_at) == ("waiting", 0, 0, None)
    assert letters() == []


def test_a_stranger_that_nobody_came_to_know_becomes_a_dead_letter() -> None:
    job_id = add_job(type="yesterday.task")
    assert set_aside(job_id, window=timedelta(seconds=-1))
    row = job_row(job_id)
    assert (row.state, row.error_code, row.due_at) == ("dead", "unknown_task", None)
    (letter,) = letters(job_id=job_id)
    assert (letter.type, letter.reason) == ("yesterday.task", "unknown_task")


def test_a_running_or_unknown_job_is_left_alone() -> None:
    start = start_job()
    assert not set_aside(start.job_id)
    assert not set_aside(new_id())
    assert job_row(start.job_id).state == "running"
