"""A paused queue, as real workers and relays obey it."""

import time
from collections.abc import Callable

import pytest

from db import ledger
from db.engine import transaction
from tests.support.jobs import lines
from tests.support.ledger import job_row
from tests.support.processes import eventually, relay, worker
from tests.support.stack import Stack, on_both_stacks

# As promised to operators.
_OBEYED_WITHIN_S = 2


def pause() -> None:
    with transaction() as connection:
        ledger.pause(connection, "default", actor="cli:ada")


def resume() -> None:
    with transaction() as connection:
        ledger.resume(connection, "default", actor="cli:ada")


@on_both_stacks
def test_a_pause_holds_within_two_seconds_through_restarts_and_ends_in_order(stack: Stack) -> None:
    with relay(stack.folder):
        with worker(stack.folder):
            # So many that the pause comes in the middle.
            ids = [stack.send("doze", seconds=0.1) for _ in range(60)]
            stack.begun(ids[0])
            pause()
            time.sleep(_OBEYED_WITHIN_S)
            done = lines(stack.record, "effect")
            assert 0 < len(done) < len(ids)
            ids += [stack.send() for _ in range(3)]
            # Whatever messages are left come back to the ledger, and nothing starts.
            held = [job_id for job_id in ids if job_id not in done]
            eventually(lambda: all(job_row(job_id).published_at is None for job_id in held))
            assert lines(stack.record, "effect") == done
        with worker(stack.folder, name="later"):
            time.sleep(_OBEYED_WITHIN_S)
            assert lines(stack.record, "effect") == done
            assert {(job_row(job_id).state, job_row(job_id).attempts) for job_id in held} == {("queued", 0)}
            resume()
            eventually(lambda: len(lines(stack.record, "effect")) == len(ids), saying=lambda: held)
    assert lines(stack.record, "effect") == ids


@pytest.mark.parametrize("any_broker", ["valkey"], indirect=True)
def test_a_running_job_ends_and_its_retry_waits_for_the_resumption(
    stack: Stack, configure: Callable[..., object]
) -> None:
    with stack.running():
        running, failing = stack.send("doze", seconds=1.5), stack.send("flaky", failures=1)
        stack.begun(running)
        pause()
        assert stack.ended(running).state == "succeeded"
        resume()
        stack.begun(failing)
        pause()
        time.sleep(_OBEYED_WITHIN_S)
        row = job_row(failing)
        assert (row.state, row.attempts) == ("waiting", 1)
        resume()
        assert stack.ended(failing).state == "succeeded"
