"""A worker takes a job and keeps it."""

from datetime import UTC, datetime, timedelta

import pytest

from db import ledger
from db.engine import transaction
from db.models.jobs import State
from db.types import new_id
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

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]


def claim(job_id: str, worker: str = "other@there:2") -> ledger.Start | None:
    with transaction() as connection:
        return ledger.claim(connection, job_id, worker=worker, lease=A_LEASE)


def test_a_queued_job_is_claimed_under_a_fresh_token_and_counted_before_it_runs() -> None:
    start = start_job(payload={"number": 7}, created_by="session:9")
    row = job_row(start.job_id)
    assert (row.state, row.worker, row.lease_token) == ("running", "worker@here:1", start.token)
    assert (row.attempts, start.attempt, start.payload, start.created_by) == (
        1,
        1,
        {"number": 7},
        "session:9",
    )
    assert row.due_at - row.started_at == pytest.approx(A_LEASE, abs=timedelta(seconds=1))


def test_a_claimed_job_cannot_be_claimed_again() -> None:
    start = start_job()
    assert claim(start.job_id) is None
    assert job_row(start.job_id).lease_token == start.token


@pytest.mark.parametrize("run_at", [timedelta(hours=1), timedelta(hours=-1)])
def test_a_parked_job_is_claimed_only_when_it_is_due(run_at: timedelta) -> None:
    job_id = add_job(run_at=datetime.now(UTC) + run_at)
    assert (claim(job_id) is not None) is (run_at < timedelta())


def test_a_running_job_is_not_claimed_even_when_its_lease_ran_out() -> None:
    # The start that was lost is recorded first, by whoever takes it over.
    start = start_job()
    expire(start)
    assert claim(start.job_id) is None


def test_an_unknown_job_is_not_claimed_and_says_so() -> None:
    nobody = new_id()
    assert claim(nobody) is None
    with transaction() as connection:
        found = ledger.why_unclaimed(connection, nobody)
    assert (found.state, found.finished, found.lease_expired) == (None, False, False)


def test_a_finished_job_answers_a_repeated_message_with_its_result() -> None:
    start = start_job()
    with transaction() as connection:
        ledger.finish(connection, start, {"receipt": 5})
        found = ledger.why_unclaimed(connection, start.job_id)
    assert found == ledger.Unclaimed(State.SUCCEEDED, {"receipt": 5})
    assert found.finished
    assert claim(start.job_id) is None


def test_a_dead_job_is_not_claimed() -> None:
    job_id, _ = bury_job()
    assert claim(job_id) is None


def test_an_expired_lease_is_told_from_a_living_one() -> None:
    start = start_job()
    with transaction() as connection:
        assert not ledger.why_unclaimed(connection, start.job_id).lease_expired
        assert ledger.expired(connection) == []
    expire(start)
    with transaction() as connection:
        assert ledger.why_unclaimed(connection, start.job_id).lease_expired
        assert ledger.expired(connection) == [start]
        assert ledger.expired(connection, job_id=start.job_id) == [start]
        assert ledger.expired(connection, job_id=new_id()) == []


def test_an_overdue_waiting_job_is_no_expired_lease() -> None:
    job_id = add_job(run_at=datetime.now(UTC) - timedelta(hours=1))
    with transaction() as connection:
        assert not ledger.why_unclaimed(connection, job_id).lease_expired
        assert ledger.expired(connection) == []


def test_of_many_claims_at_once_exactly_one_wins() -> None:
    job_id = add_job()
    starts = at_once(lambda number: claim(job_id, f"worker@{number}"), times=8)
    assert len([start for start in starts if start is not None]) == 1
    assert job_row(job_id).attempts == 1


def test_renewing_extends_the_leases_of_this_worker_alone() -> None:
    mine, theirs, ended = start_job(), start_job(worker="other@there:2"), start_job()
    with transaction() as connection:
        ledger.finish(connection, ended, None)
    expire(mine)
    before = job_row(theirs.job_id).due_at
    with transaction() as connection:
        ids = [mine.job_id, theirs.job_id, ended.job_id]
        assert ledger.renew(connection, ids, worker=mine.worker, lease=A_LEASE) == 1
        assert ledger.expired(connection) == []
    assert job_row(theirs.job_id).due_at == before
    assert job_row(ended.job_id).due_at is None


def test_a_lease_that_was_taken_over_is_not_renewed_by_its_former_owner() -> None:
    lost = start_job()
    with transaction() as connection:
        ledger.lose(connection, lost, A_FAILURE)
    start_job(lost.job_id, worker="other@there:2")
    with transaction() as connection:
        assert ledger.renew(connection, [lost.job_id], worker=lost.worker, lease=A_LEASE) == 0


def test_a_worker_finds_only_its_own_running_start() -> None:
    start = start_job()
    with transaction() as connection:
        assert ledger.running_on(connection, [start.job_id], worker=start.worker) == [start]
        assert ledger.running_on(connection, [start.job_id], worker="other@there:2") == []
        ledger.finish(connection, start, None)
        assert ledger.running_on(connection, [start.job_id], worker=start.worker) == []


def test_a_checkpoint_stores_the_progress_and_stops_a_cancelled_job() -> None:
    start = start_job()
    with transaction() as connection:
        assert ledger.checkpoint(connection, start, 40)
        ledger.cancel(connection, start.job_id)
        assert not ledger.checkpoint(connection, start, 60)
    assert job_row(start.job_id).progress == 60


def test_a_checkpoint_of_a_start_that_lost_its_lease_is_refused() -> None:
    lost = start_job()
    with transaction() as connection:
        ledger.lose(connection, lost, A_FAILURE)
    with pytest.raises(ledger.LeaseLost), transaction() as connection:
        ledger.checkpoint(connection, lost, 40)
    assert job_row(lost.job_id).progress is None


def test_a_job_due_in_the_past_keeps_its_place_when_time_passes() -> None:
    job_id = add_job()
    pass_time(job_id)
    assert claim(job_id) is not None
