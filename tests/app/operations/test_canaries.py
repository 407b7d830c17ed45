"""A beat that submits nothing and a queue that nobody consumes: seen by /readyz, /metrics and `flask health`."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy import update

from app.operations.doctor import CHECKS, System
from config.queues import Queue
from db import ledger
from db.engine import transaction
from db.ledger.tables import jobs
from db.types import now
from tasks.canary import sing
from tasks.schedule import SCHEDULE
from tests.app.test_operations import figure
from tests.support.databases import on_both_databases
from tests.support.ledger import add_job, pass_time, start_job
from tests.support.web import Client

Run = Callable[..., Result]


@pytest.fixture
def run(app: Flask) -> Run:
    """Run `flask health …`."""
    return lambda *args: app.test_cli_runner().invoke(args=["health", *args])


def canary(queue: str, *, age: timedelta = timedelta(), arrived: bool = False) -> str:
    """A canary that was submitted so long ago, and perhaps has come through at once."""
    job_id = add_job(type=sing.name, queue=queue, payload={"version": 1, "queue": queue})
    if arrived:
        with transaction() as connection:
            start = ledger.claim(connection, job_id, worker="w", lease=timedelta(minutes=1))
            assert start is not None
            ledger.finish(connection, start, None)
    ended = {"finished_at": now(-age)} if arrived else {}
    with transaction() as connection:
        connection.execute(update(jobs).where(jobs.c.id == job_id).values(created_at=now(-age), **ended))
    return job_id


FIVE = timedelta(minutes=5)


def all_well() -> None:
    """A canary has just come through every queue."""
    for queue in Queue:
        canary(queue, arrived=True)


@on_both_databases
@pytest.mark.usefixtures("broker")
def test_while_canaries_come_through_nothing_stands_still(client: Client, run: Run) -> None:
    all_well()
    assert client.get("/readyz").json == {"ready": True, "missing": {}, "stalled": {}}
    text = client.get("/metrics").text
    assert 0 <= figure(text, "canary_age_seconds", queue="ai") < 60
    assert figure(text, "queue_unserved", queue="ai") == 0
    assert 0 <= figure(text, "beat_silence_seconds") < 60
    assert [run(*words).exit_code for words in (["beat"], ["relay"], ["queues", "ai,email"])] == [0, 0, 0]


@on_both_databases
@pytest.mark.usefixtures("broker")
def test_a_silent_beat_is_named_and_takes_nobody_out_of_the_balancer(client: Client, run: Run) -> None:
    for queue in Queue:
        canary(queue, age=FIVE, arrived=True)
    response = client.get("/readyz")
    assert response.status_code == 200
    assert [*response.json["stalled"]] == ["beat"]
    assert response.json["stalled"]["beat"].startswith("has been silent for ")
    assert figure(client.get("/metrics").text, "beat_silence_seconds") >= 300
    told = run("beat")
    assert (told.exit_code, told.output) == (1, "Error: beat submits nothing\n")
    # Its workers are well.
    assert run("queues", "email,default,dead_letter,email_bulk").exit_code == 0


def test_a_beat_that_never_ran_is_named(client: Client, run: Run) -> None:
    assert client.get("/readyz").json["stalled"] == {"beat": "has submitted nothing so far"}
    assert figure(client.get("/metrics").text, "beat_silence_seconds") == float("inf")
    assert run("beat").exit_code == 1


@on_both_databases
@pytest.mark.usefixtures("broker")
def test_a_queue_that_keeps_its_canary_waiting_is_named(client: Client, run: Run) -> None:
    all_well()
    canary("ai", age=2 * FIVE, arrived=True)
    canary("ai", age=FIVE)
    response = client.get("/readyz")
    assert (response.status_code, [*response.json["stalled"]]) == (200, ["queue ai"])
    text = client.get("/metrics").text
    assert figure(text, "queue_unserved", queue="ai") == 1
    assert figure(text, "queue_unserved", queue="email") == 0
    told = run("queues", "images,ai")
    assert told.exit_code == 1
    assert told.output.startswith("Error: nobody consumes ai (for ")
    assert run("queues", "images").exit_code == 0


@on_both_databases
def test_a_worker_that_is_busy_under_a_lease_serves_its_queue(run: Run, database: str) -> None:
    canary("ai", age=FIVE)
    start = start_job(queue="ai")
    assert run("queues", "ai").exit_code == 0
    pass_time(start.job_id)
    assert run("queues", "ai").exit_code == 1


def test_a_paused_queue_is_not_unserved(run: Run) -> None:
    canary("ai", age=FIVE)
    with transaction() as connection:
        ledger.pause(connection, Queue.AI, actor="cli:me")
    assert run("queues", "ai").exit_code == 0


def test_a_job_that_nobody_publishes_is_the_relays_fault(run: Run) -> None:
    pass_time(add_job())
    assert run("relay").exit_code == 1


def test_a_queue_that_does_not_exist_is_a_mistake(run: Run) -> None:
    told = run("queues", "ai,emial")
    assert told.exit_code == 2
    assert "there is no queue emial" in told.output


def test_without_a_database_nothing_is_healthy_and_the_reason_is_one_line(
    run: Run, configure: Callable[..., object]
) -> None:
    configure(DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    told = run("queues", "ai")
    assert (told.exit_code, len(told.output.splitlines())) == (1, 1)


def test_beat_submits_what_is_looked_for(database: str, run: Run) -> None:
    for line in SCHEDULE:
        line.run_latest(datetime.now(UTC))
    assert run("beat").exit_code == 0


def test_doctor_names_a_queue_that_is_not_consumed_and_a_silent_beat(database: str) -> None:
    assert CHECKS["beat"](System()).level == "warning"
    assert CHECKS["canaries"](System()).level == "ok"
    canary("ai", age=FIVE)
    finding = CHECKS["canaries"](System())
    assert finding.level == "error"
    assert "--queues ai" in (finding.change or "")
    for queue in Queue:
        canary(queue)
    assert CHECKS["beat"](System()).level == "ok"
