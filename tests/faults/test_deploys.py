"""A worker that is told to go lets its jobs end or hands them back; nobody is charged for a deploy."""

import signal

from tests.support.ledger import job_row
from tests.support.processes import eventually, worker
from tests.support.stack import Stack, on_both_stacks


@on_both_stacks
def test_a_worker_told_to_stop_lets_its_job_end_and_leaves_the_rest_to_others(stack: Stack) -> None:
    with stack.running() as its_worker:
        job_id = stack.send("doze", seconds=3)
        stack.begun(job_id)
        waiting = stack.send()
        its_worker.send(signal.SIGTERM)
        assert its_worker.ended() == 0
        row = job_row(job_id)
        assert (row.state, row.attempts) == ("succeeded", 1)
        assert job_row(waiting).state == "queued"
        with worker(stack.folder, name="second"):
            row = stack.ended(waiting)
    assert (row.state, row.attempts) == ("succeeded", 1)


@on_both_stacks
def test_a_worker_told_twice_hands_its_job_back_free_of_charge(stack: Stack) -> None:
    with stack.running() as its_worker:
        job_id = stack.send("doze", seconds=6)
        stack.begun(job_id)
        its_worker.send(signal.SIGTERM)
        its_worker.printed("Warm shutdown")
        its_worker.send(signal.SIGTERM)
        eventually(lambda: stack.outcomes(job_id) == ["released"], saying=lambda: stack.account(job_id))
        its_worker.ended()
        row = job_row(job_id)
        assert (row.failures, row.losses, stack.count("effect", job_id)) == (0, 0, 0)
        with worker(stack.folder, name="second"):
            row = stack.ended(job_id)
    assert (row.state, row.attempts, row.failures, row.losses) == ("succeeded", 2, 0, 0)
    assert stack.outcomes(job_id) == ["released"]
    assert stack.count("effect", job_id) == 1


def test_a_worker_killed_while_it_drains_leaves_a_job_that_runs_again(stack: Stack) -> None:
    with stack.running() as its_worker:
        job_id = stack.send("doze", seconds=2)
        stack.begun(job_id)
        its_worker.send(signal.SIGTERM)
        its_worker.kill()
        with worker(stack.folder, name="second"):
            row = stack.ended(job_id)
    assert (row.state, row.attempts, row.losses) == ("succeeded", 2, 1)
    assert stack.count("effect", job_id) == 1


def test_a_child_that_is_replaced_after_its_share_of_jobs_loses_none(stack: Stack) -> None:
    with stack.running(concurrency=2, options=("--max-tasks-per-child", "2")):
        job_ids = [stack.send() for _ in range(12)]
        rows = [stack.ended(job_id) for job_id in job_ids]
    assert {(row.state, row.attempts) for row in rows} == {("succeeded", 1)}
    assert all(stack.count("effect", job_id) == 1 for job_id in job_ids)
