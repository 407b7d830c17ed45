"""The broker or the database is away for a moment: everybody waits and comes back by themselves."""

import os
import signal
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import psycopg
import pytest
import redis
from psycopg import sql
from sqlalchemy import make_url

from tests.support.brokers import Valkey, drop_connections
from tests.support.jobs import lines
from tests.support.ledger import job_row
from tests.support.processes import eventually
from tests.support.stack import Stack

# What the processes to be cut off call themselves (libpq reads PGAPPNAME).
VICTIM = "victim"


@pytest.fixture
def on_own_broker(own_broker: Valkey, configure: Callable[..., object], tmp_path: Path) -> Stack:
    configure(LEASE_SECONDS=2)
    return Stack(tmp_path)


def test_a_broker_that_restarts_empty_three_times_loses_no_job_and_no_worker(
    on_own_broker: Stack, own_broker: Valkey
) -> None:
    stack = on_own_broker
    with stack.running():
        busy = stack.send("doze", seconds=4)
        stack.begun(busy)
        job_ids = []
        for _ in range(3):
            job_ids += [stack.send() for _ in range(3)]
            own_broker.restart()
        job_ids += [stack.send() for _ in range(10)]
        rows = [stack.ended(job_id, within=60) for job_id in [busy, *job_ids]]
    assert {row.state for row in rows} == {"succeeded"}
    assert all(stack.count("effect", job_id) == 1 for job_id in [busy, *job_ids])


def test_jobs_accepted_while_the_broker_is_away_run_when_it_is_back(
    on_own_broker: Stack, own_broker: Valkey
) -> None:
    stack = on_own_broker
    with stack.running():
        own_broker.kill()
        job_ids = [stack.send() for _ in range(5)]
        assert {job_row(job_id).state for job_id in job_ids} == {"queued"}
        own_broker.start()
        assert {stack.ended(job_id, within=60).state for job_id in job_ids} == {"succeeded"}


def test_a_broker_that_is_frozen_for_a_while_is_waited_for(on_own_broker: Stack, own_broker: Valkey) -> None:
    stack = on_own_broker
    with stack.running():
        own_broker.client.client_pause(6000)
        job_ids = [stack.send() for _ in range(5)]
        assert {stack.ended(job_id, within=60).state for job_id in job_ids} == {"succeeded"}


@pytest.mark.parametrize(
    ("spoil", "mend"),
    [
        (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
        (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
        (("SET", "default", "not a list"), ("DEL", "default")),
    ],
    ids=["made a replica", "full", "something else under the queue's name"],
)
def test_a_broker_that_answers_with_errors_ends_no_worker(
    on_own_broker: Stack, own_broker: Valkey, spoil: tuple[str, ...], mend: tuple[str, ...]
) -> None:
    stack = on_own_broker
    with stack.running(), redis.Redis.from_url(own_broker.url) as client:
        busy = stack.send("doze", seconds=2)
        stack.begun(busy)
        client.execute_command(*spoil)
        job_ids = [stack.send() for _ in range(3)]
        eventually(lambda: job_row(busy).state == "succeeded")
        client.execute_command(*mend)
        assert {stack.ended(job_id, within=60).state for job_id in job_ids} == {"succeeded"}


@pytest.mark.parametrize(("any_broker", "database"), [("rabbitmq", "sqlite")], indirect=True)
def test_rabbitmq_closing_every_connection_loses_no_job(stack: Stack, any_broker: str) -> None:
    with stack.running():
        busy = stack.send("doze", seconds=4)
        stack.begun(busy)
        drop_connections(any_broker)
        job_ids = [busy, *(stack.send() for _ in range(5))]
        rows = [stack.ended(job_id, within=60) for job_id in job_ids]
    assert {row.state for row in rows} == {"succeeded"}
    assert all(stack.count("effect", job_id) == 1 for job_id in job_ids)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_database_that_closes_every_connection_again_and_again_loses_no_job(
    stack: Stack, database: str
) -> None:
    with closing(administrator(database)) as server, stack.running(concurrency=2, PGAPPNAME=VICTIM):
        job_ids = [stack.send("doze", seconds=0.3) for _ in range(12)]
        for begun in range(1, 11):
            eventually(partial(begun_in_all, stack, begun))
            cut(server, database)
        rows = [stack.ended(job_id) for job_id in job_ids]
    # An effect that was cut off right after its beginning was recorded is for a person to judge.
    assert {row.state for row in rows} <= {"succeeded", "dead"}
    assert {row.error_code for row in rows if row.state == "dead"} <= {"outcome_unknown"}
    assert all(stack.count("effect", job_id) <= 1 for job_id in job_ids)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_database_that_is_away_for_a_while_is_waited_for(stack: Stack, database: str) -> None:
    with closing(administrator(database)) as server, stack.running(PGAPPNAME=VICTIM):
        running = stack.send("doze", seconds=1)
        stack.begun(running)
        admit(server, database, False)
        cut(server, database)
        eventually(lambda: "database.away" in (stack.folder / "relay.log").read_text())
        eventually(lambda: "database.away" in (stack.folder / "worker.log").read_text())
        admit(server, database, True)
        rows = [stack.ended(job_id, within=60) for job_id in (running, stack.send())]
    assert {row.state for row in rows} == {"succeeded"}
    assert stack.count("effect", running) == 1


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_child_that_dies_while_the_database_is_away_does_not_take_its_worker_along(
    stack: Stack, database: str
) -> None:
    with closing(administrator(database)) as server, stack.running(PGAPPNAME=VICTIM) as its_worker:
        job_id = stack.send("doze", seconds=3)
        stack.begun(job_id)
        admit(server, database, False)
        cut(server, database)
        for child in its_worker.children():
            os.kill(child, signal.SIGKILL)
        its_worker.printed("job.not_taken_back")
        admit(server, database, True)
        row = stack.ended(job_id)
        assert stack.ended(stack.send()).state == "succeeded"
        assert its_worker.alive
    assert (row.state, row.attempts) == ("succeeded", 2)
    assert stack.count("effect", job_id) == 1


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_worker_that_is_told_to_go_while_the_database_is_away_hands_its_jobs_back_when_it_answers(
    stack: Stack, database: str
) -> None:
    # Leases outlast the outage, so only the worker itself can give the jobs back.
    with (
        closing(administrator(database)) as server,
        stack.running(PGAPPNAME=VICTIM, LEASE_SECONDS=60, concurrency=2) as its_worker,
    ):
        job_ids = [stack.send("doze", seconds=17) for _ in range(2)]
        for job_id in job_ids:
            stack.begun(job_id)
        its_worker.send(signal.SIGTERM)
        its_worker.printed("Warm shutdown")
        admit(server, database, False)
        cut(server, database)
        its_worker.send(signal.SIGTERM)
        its_worker.printed("database.away")
        admit(server, database, True)
        for job_id in job_ids:
            eventually(partial(was_released, stack, job_id), saying=partial(stack.account, job_id))
        its_worker.ended()
    assert all(job_row(job_id).losses == 0 for job_id in job_ids)
    assert all(stack.count("effect", job_id) == 0 for job_id in job_ids)


def was_released(stack: Stack, job_id: str) -> bool:
    return stack.outcomes(job_id) == ["released"]


def begun_in_all(stack: Stack, times: int) -> bool:
    return len(lines(stack.record, "start")) >= times


def administrator(database: str) -> psycopg.Connection[tuple[object, ...]]:
    url = make_url(database).set(drivername="postgresql", database="postgres")
    return psycopg.connect(url.render_as_string(hide_password=False), autocommit=True)


def cut(server: psycopg.Connection[tuple[object, ...]], database: str) -> None:
    """Close the connections of the test's worker and relay, not those of the test itself."""
    query = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND application_name = %s"
    )
    server.execute(query, [make_url(database).database, VICTIM])


def admit(server: psycopg.Connection[tuple[object, ...]], database: str, yes: bool) -> None:
    statement = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
    server.execute(statement.format(sql.Identifier(make_url(database).database or ""), sql.Literal(yes)))
