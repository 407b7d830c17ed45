"""Whatever dies, the job runs again and its effect happens once."""

import os
import signal
import time
from functools import partial

import pytest

from db import ledger
from db.engine import transaction
from tests.support.ledger import attempts_of, job_row, letters
from tests.support.processes import Process, eventually, relay, worker
from tests.support.stack import Stack, on_both_stacks


@on_both_stacks
def test_a_job_whose_child_was_killed_runs_again_at_once(stack: Stack) -> None:
    with stack.running() as its_worker:
        job_id = stack.send("sleep", seconds=2)
        stack.begun(job_id)
        for child in its_worker.children():
            os.kill(child, signal.SIGKILL)
        row = stack.ended(job_id)
    assert (row.state, row.attempts, row.losses, row.failures) == ("succeeded", 2, 1, 0)
    assert stack.outcomes(job_id) == ["lost"]
    assert stack.count("effect", job_id) == 1


@on_both_stacks
@pytest.mark.parametrize("only_the_parent", [True, False])
def test_a_job_whose_worker_was_killed_runs_again_elsewhere(stack: Stack, only_the_parent: bool) -> None:
    with relay(stack.folder), worker(stack.folder) as first:
        job_id = stack.send("sleep", seconds=3)
        stack.begun(job_id)
        if only_the_parent:
            first.send(signal.SIGKILL)
        else:
            first.kill()
        killed_at = time.monotonic()
        with worker(stack.folder, name="second"):
            stack.begun(job_id, 2)
            row = stack.ended(job_id)
    assert time.monotonic() - killed_at < 60
    assert (row.state, row.attempts, row.losses) == ("succeeded", 2, 1)
    assert row.worker.startswith("second@")
    assert stack.outcomes(job_id) == ["lost"]
    assert stack.count("effect", job_id) == 1


@on_both_stacks
def test_a_job_that_kills_its_child_ends_in_the_dead_letters_while_others_flow(stack: Stack) -> None:
    with stack.running():
        poison = stack.send("die")
        good = [stack.send() for _ in range(5)]
        row = stack.ended(poison)
        assert {stack.ended(job_id).state for job_id in good} == {"succeeded"}
    assert (row.state, row.error_code, row.attempts) == ("dead", "worker_lost", 3)
    assert stack.count("start", poison) == 3
    assert [attempt.number for attempt in attempts_of(poison)] == [1, 2, 3]
    (letter,) = letters(job_id=poison)
    assert (letter.reason, letter.owner) == ("worker_lost", "tests")


def dead_or_done(its_worker: Process, stack: Stack, *job_ids: str) -> bool:
    return not its_worker.alive or stack.ended_all(*job_ids)


def test_a_job_that_takes_down_its_whole_worker_is_stopped_after_three_starts(stack: Stack) -> None:
    with relay(stack.folder):
        poison = stack.send("take down the worker")
        good = stack.send()
        for number in range(6):
            with worker(stack.folder, name=f"worker{number}") as current:
                eventually(
                    partial(dead_or_done, current, stack, poison, good),
                    within=40,
                    saying=lambda: stack.account(poison),
                )
                if stack.ended_all(poison, good):
                    break
    row = job_row(poison)
    assert (row.state, row.error_code, row.attempts) == ("dead", "worker_lost", 3)
    assert stack.count("start", poison) == 3
    assert job_row(good).state == "succeeded"


def test_a_job_that_exits_its_process_is_a_lost_start(stack: Stack) -> None:
    with stack.running():
        job_id = stack.send("exit")
        row = stack.ended(job_id)
    assert (row.state, row.error_code, row.attempts) == ("dead", "worker_lost", 3)


def test_a_job_killed_in_the_middle_of_its_effect_is_not_repeated_without_a_persons_word(
    stack: Stack,
) -> None:
    with stack.running():
        job_id = stack.send("die in the effect")
        row = stack.ended(job_id)
        assert (row.state, row.error_code) == ("dead", "outcome_unknown")
        assert stack.count("effect", job_id) == 1
        (letter,) = letters(job_id=job_id)
        assert letter.reason == "outcome_unknown"
        with transaction() as connection:
            ledger.resolve(connection, letter.id, happened=True, actor="operator")
        assert stack.ended(job_id).state == "succeeded"
    assert stack.count("effect", job_id) == 1
