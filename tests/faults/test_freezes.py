"""A worker that was frozen longer than its lease wakes up to find that others have done its work."""

import signal

from tests.support.ledger import job_row
from tests.support.processes import eventually, relay, worker
from tests.support.stack import Stack, on_both_stacks


@on_both_stacks
def test_a_frozen_worker_loses_its_job_and_changes_nothing_when_it_wakes_up(stack: Stack) -> None:
    with relay(stack.folder), worker(stack.folder, name="frozen") as frozen:
        job_id = stack.send("doze", seconds=1)
        stack.begun(job_id)
        frozen.send_all(signal.SIGSTOP)
        with worker(stack.folder, name="second"):
            row = stack.ended(job_id)
            assert (row.state, row.attempts, row.losses) == ("succeeded", 2, 1)
            frozen.send_all(signal.SIGCONT)
            frozen.printed("job.lease_lost")
        assert job_row(job_id) == row
        assert stack.count("effect", job_id) == 1
        # It is well otherwise.
        assert stack.ended(stack.send()).state == "succeeded"


def test_a_worker_that_wakes_up_while_its_successor_is_at_work_does_not_disturb_it(stack: Stack) -> None:
    with relay(stack.folder), worker(stack.folder, name="frozen") as frozen:
        job_id = stack.send("doze", seconds=3)
        stack.begun(job_id)
        frozen.send_all(signal.SIGSTOP)
        with worker(stack.folder, name="second"):
            stack.begun(job_id, 2)
            frozen.send_all(signal.SIGCONT)
            row = stack.ended(job_id)
            frozen.printed("job.lease_lost")
    assert (row.state, row.attempts) == ("succeeded", 2)
    assert row.worker.startswith("second@")
    assert stack.count("effect", job_id) == 1


def test_a_long_job_keeps_its_lease_many_times_over(stack: Stack) -> None:
    with stack.running(concurrency=2):
        job_id = stack.send("doze", seconds=7)
        stack.begun(job_id)
        eventually(lambda: stack.send() and stack.ended_all(job_id), within=30)
    row = job_row(job_id)
    assert (row.state, row.attempts, row.losses) == ("succeeded", 1, 0)
