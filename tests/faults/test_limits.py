"""A job that takes too long is stopped, and that counts as a failed attempt like any other."""

import pytest

from tests.support.ledger import attempts_of, letters
from tests.support.stack import Stack, on_both_stacks


@on_both_stacks
def test_a_job_killed_by_its_hard_limit_is_retried_and_then_given_to_people(stack: Stack) -> None:
    with stack.running():
        job_id = stack.send_impatient("stall", seconds=30)
        other = stack.send()
        row = stack.ended(job_id)
        assert stack.ended(other).state == "succeeded"
    assert (row.state, row.error_code, row.attempts, row.losses) == ("dead", "time_limit", 2, 0)
    assert [(attempt.outcome, attempt.error_code) for attempt in attempts_of(job_id)] == [
        ("timed_out", "time_limit")
    ] * 2
    assert [letter.reason for letter in letters(job_id=job_id)] == ["retries_exhausted"]
    assert stack.count("effect", job_id) == 0


def test_a_job_that_holds_the_databases_lock_is_killed_by_its_hard_limit_like_any_other(stack: Stack) -> None:
    with stack.running():
        job_id = stack.send_impatient("stall in a transaction", seconds=300)
        row = stack.ended(job_id)
    assert (row.state, row.error_code, row.attempts, row.losses) == ("dead", "time_limit", 2, 0)


def test_a_job_over_its_soft_limit_ends_by_itself_and_is_retried(stack: Stack) -> None:
    with stack.running() as its_worker:
        before = None
        job_id = stack.send_impatient("sleep", seconds=1.7)
        stack.begun(job_id)
        before = its_worker.children()
        row = stack.ended(job_id)
        # The child was not killed for it.
        assert its_worker.children() == before
    assert (row.state, row.error_code, row.attempts) == ("dead", "time_limit", 2)
    assert stack.outcomes(job_id) == ["timed_out", "timed_out"]


@pytest.mark.parametrize(
    ("any_broker", "database"), [pytest.param("valkey", "postgresql", id="valkey-postgresql")], indirect=True
)
def test_a_soft_limit_that_strikes_while_the_database_is_asked_leaves_the_child_fit_for_work(
    stack: Stack,
) -> None:
    with stack.running() as its_worker:
        job_id = stack.send_impatient("ask", seconds=30)
        stack.begun(job_id)
        before = its_worker.children()
        row = stack.ended(job_id)
        assert stack.ended(stack.send()).state == "succeeded"
        assert its_worker.children() == before
    assert (row.state, row.error_code, row.attempts, row.losses) == ("dead", "time_limit", 2, 0)
    assert stack.outcomes(job_id) == ["timed_out", "timed_out"]


@pytest.mark.parametrize("failures", [1, 3])
def test_a_transient_failure_waits_and_tries_again_without_a_worker_meanwhile(
    stack: Stack, failures: int
) -> None:
    with stack.running():
        job_id = stack.send("flaky", failures=failures)
        row = stack.ended(job_id)
    assert (row.state, row.attempts, row.failures) == ("succeeded", failures + 1, failures)
    waits = [
        later.started_at - earlier.ended_at
        for earlier, later in zip(attempts_of(job_id), attempts_of(job_id)[1:], strict=False)
    ]
    # One second, doubled with each failure.
    assert all(wait.total_seconds() >= 0.9 * 2**number for number, wait in enumerate(waits))
