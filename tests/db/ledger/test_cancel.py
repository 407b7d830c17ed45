"""Cancelling."""

from datetime import UTC, datetime, timedelta

import pytest

from db import ledger
from db.engine import transaction
from db.types import new_id
from tests.support.databases import on_both_databases
from tests.support.ledger import A_LEASE, add_job, bury_job, job_row, start_job

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]


def cancel(job_id: str) -> str:
    with transaction() as connection:
        return ledger.cancel(connection, job_id)


@pytest.mark.parametrize("parked", [False, True])
def test_a_job_that_waits_is_cancelled_at_once_and_its_message_finds_nothing(parked: bool) -> None:
    job_id = add_job(run_at=datetime.now(UTC) + timedelta(hours=1) if parked else None)
    assert cancel(job_id) == "cancelled"
    row = job_row(job_id)
    assert (row.state, row.due_at) == ("cancelled", None)
    assert row.finished_at is not None
    with transaction() as connection:
        assert ledger.claim(connection, job_id, worker="worker", lease=A_LEASE) is None
        assert ledger.take_overdue(connection, limit=10) == []


def test_a_running_job_is_asked_to_stop() -> None:
    start = start_job()
    assert cancel(start.job_id) == "running"
    row = job_row(start.job_id)
    assert (row.state, row.lease_token) == ("running", start.token)
    assert row.cancel_requested_at is not None


def test_a_finished_job_stays_as_it_is() -> None:
    job_id, _ = bury_job()
    before = job_row(job_id)
    assert cancel(job_id) == "dead"
    assert job_row(job_id) == before


def test_an_unknown_job_is_not_found() -> None:
    with pytest.raises(ledger.JobNotFound):
        cancel(new_id())
