"""A limit that two job types share, over three workers, while their queue is paused and one of them is killed."""

import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

from db import ledger
from db.engine import transaction
from tasks.engine import unit_of_work
from tests.support.jobs import Script, Weighed, heavy, light
from tests.support.ledger import job_row
from tests.support.processes import Process, eventually, relay, worker
from tests.support.stack import Stack, on_both_stacks

LIMIT, WINDOW = 10, timedelta(seconds=1)
HEAVY = 3
JOBS = 30

Start = tuple[float, str]
Weights = dict[str, int]


def burst(stack: Stack) -> Weights:
    """Jobs of both types, all at once; what each weighs, by its id."""
    one = Script(record=str(stack.record), seconds=0.2)
    several = Weighed(record=str(stack.record), seconds=0.2, weight=HEAVY)
    weights: Weights = {}
    with unit_of_work() as work:
        for _ in range(JOBS // 2):
            weights[work.enqueue(light, one).id] = 1
            weights[work.enqueue(heavy, several).id] = HEAVY
    return weights


def starts(stack: Stack) -> list[Start]:
    """When which job began, as the jobs themselves wrote it down."""
    if not stack.record.exists():
        return []
    words = [line.split() for line in stack.record.read_text().splitlines()]
    return sorted((float(moment), job_id) for moment, _what, job_id, _attempt in words)


def started(stack: Stack, weights: Weights) -> int:
    """The weight of all starts so far."""
    return sum(weights[job_id] for _, job_id in starts(stack))


def fullest_window(begun: Sequence[Start], weights: Weights) -> int:
    """The weight in the fullest of all windows of the limit's length."""
    length = WINDOW.total_seconds()
    return max(
        sum(weights[job_id] for moment, job_id in begun if first <= moment < first + length)
        for first, _ in begun
    )


def pause_and_resume(weights: Weights) -> None:
    """Hold the queue until more turns have passed unused than one window may hold."""
    with transaction() as connection:
        ledger.pause(connection, "default", actor="cli:ada")

    def overdue() -> int:
        rows = [job_row(job_id) for job_id in weights]
        long_ago = datetime.now(UTC) - WINDOW
        return sum(weights[row.id] for row in rows if row.state == "waiting" and row.due_at < long_ago)

    eventually(lambda: overdue() > LIMIT)
    with transaction() as connection:
        ledger.resume(connection, "default", actor="cli:ada")


def kill_at_work(victim: Process, stack: Stack) -> None:
    """SIGKILL the worker while something that has begun runs on it."""

    def caught() -> bool:
        # It stands still for the look, so that nothing ends between the look and the kill.
        victim.send_all(signal.SIGSTOP)
        rows = [job_row(job_id) for _, job_id in starts(stack)]
        at_work = any(row.state == "running" and row.worker.startswith("first@") for row in rows)
        victim.send_all(signal.SIGKILL if at_work else signal.SIGCONT)
        return at_work

    eventually(caught)


@on_both_stacks
def test_no_window_holds_more_weight_than_the_limit_through_a_burst_a_pause_and_a_killed_worker(
    stack: Stack, valkey: str, configure: Callable[..., object]
) -> None:
    configure(REDIS_URL=valkey)
    with ExitStack() as processes:
        processes.enter_context(relay(stack.folder))
        first, *_ = [
            processes.enter_context(worker(stack.folder, name=name, concurrency=3))
            for name in ("first", "second", "third")
        ]
        weights = burst(stack)
        eventually(lambda: started(stack, weights) > LIMIT)
        pause_and_resume(weights)
        eventually(lambda: started(stack, weights) > sum(weights.values()) / 2)
        kill_at_work(first, stack)
        states = {stack.ended(job_id).state for job_id in weights}
    begun = starts(stack)
    assert states == {"succeeded"}
    assert len(begun) > JOBS, "what ran on the killed worker began again"
    assert fullest_window(begun, weights) <= LIMIT
