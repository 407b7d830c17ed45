"""Messages may be lost, repeated or never sent: the ledger knows better."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from sqlalchemy import text

from db import ledger
from db.engine import autocommit, transaction
from tasks.engine import broker as questions
from tasks.engine.outbox import unit_of_work
from tasks.engine.publisher import publisher
from tests.support.jobs import Script, scripted
from tests.support.ledger import job_row
from tests.support.processes import relay, worker
from tests.support.stack import Stack, on_both_stacks

ROOT = Path(__file__).resolve().parents[2]

COMMIT_AND_DIE = """
import os, sys
from sqlalchemy import event
from sqlalchemy.orm import Session
from tests.support.jobs import Script, scripted
event.listen(Session, "after_commit", lambda session: os._exit(7))
scripted.delay(Script(record=sys.argv[1]))
"""


def test_jobs_whose_messages_were_flushed_are_published_again_within_a_minute(
    stack: Stack, any_broker: str
) -> None:
    with relay(stack.folder):
        job_ids = [stack.send() for _ in range(20)]
        with redis.Redis.from_url(any_broker) as client:
            client.flushall()
        with worker(stack.folder, concurrency=2):
            rows = [stack.ended(job_id, within=60) for job_id in job_ids]
    assert {(row.state, row.attempts) for row in rows} == {("succeeded", 1)}
    assert all(stack.count("effect", job_id) == 1 for job_id in job_ids)


@on_both_stacks
def test_a_message_delivered_many_times_starts_its_job_once(stack: Stack) -> None:
    job_ids = [stack.send("doze", seconds=0.5), *(stack.send() for _ in range(5))]
    again = [ledger.Due(job_id, scripted.name, "default", "normal") for job_id in job_ids] * 5
    publisher().publish(again)
    with stack.running(concurrency=2):
        rows = [stack.ended(job_id) for job_id in job_ids]
        # Those behind it in the queue have been looked at as well.
        last = stack.ended(stack.send())
    assert {(row.state, row.attempts) for row in [*rows, last]} == {("succeeded", 1)}
    assert all(stack.count("start", job_id) == 1 for job_id in job_ids)
    assert [job_row(job_id) for job_id in job_ids] == rows


@on_both_stacks
def test_a_job_whose_process_died_between_commit_and_publish_is_published_by_the_relay(stack: Stack) -> None:
    dead = subprocess.run(
        [sys.executable, "-c", COMMIT_AND_DIE, str(stack.record)], cwd=ROOT, env=dict(os.environ), check=False
    )
    assert dead.returncode == 7
    assert set(questions.depths().values()) == {0}
    with autocommit() as connection:
        job_id = str(connection.execute(text("SELECT id FROM jobs")).scalar_one())
    with stack.running():
        row = stack.ended(job_id)
    assert (row.state, row.attempts) == ("succeeded", 1)


@on_both_stacks
def test_a_job_of_a_transaction_that_rolled_back_never_runs(stack: Stack) -> None:
    def change_ones_mind() -> None:
        with unit_of_work() as work:
            work.enqueue(scripted, Script(record=str(stack.record)))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_ones_mind()
    with stack.running():
        assert stack.ended(stack.send()).state == "succeeded"
    with autocommit() as connection:
        assert connection.execute(text("SELECT count(*) FROM jobs")).scalar_one() == 1


def test_several_relays_publish_each_job_once_between_them(stack: Stack, any_broker: str) -> None:
    with redis.Redis.from_url(any_broker) as client:
        # Away while the jobs come, so that the relays have to publish them all.
        with pytest.MonkeyPatch.context() as elsewhere:
            elsewhere.setattr(publisher(), "_quiet_until", float("inf"))
            job_ids = [stack.send() for _ in range(30)]
        assert client.llen("default") == 0
        with relay(stack.folder), relay(stack.folder, name="relay2"), worker(stack.folder):
            assert {stack.ended(job_id).state for job_id in job_ids} == {"succeeded"}
    starts = [stack.count("start", job_id) for job_id in job_ids]
    assert starts == [1] * len(job_ids)


def test_a_job_cancelled_while_no_worker_was_there_does_not_run_when_one_comes(stack: Stack) -> None:
    cancelled = stack.send()
    with transaction() as connection:
        ledger.cancel(connection, cancelled)
    with stack.running():
        assert stack.ended(stack.send()).state == "succeeded"
    assert job_row(cancelled).state == "cancelled"
    assert stack.count("start", cancelled) == 0


def test_a_running_job_that_is_cancelled_stops_at_its_next_checkpoint_and_harms_no_other(
    stack: Stack,
) -> None:
    with stack.running(concurrency=2):
        doomed, other = stack.send("sleep", seconds=15), stack.send("sleep", seconds=1)
        stack.begun(doomed)
        with transaction() as connection:
            ledger.cancel(connection, doomed)
        row = stack.ended(doomed)
        assert stack.ended(other).state == "succeeded"
    assert (row.state, row.attempts) == ("cancelled", 1)
    assert stack.count("effect", doomed) == 0
