"""After a fault: how fast a killed worker's jobs run again, how fast a flushed broker is filled again."""

import signal
import time

import redis
from sqlalchemy import func, select

from bench.drain import ROUNDS, enqueue
from bench.stage import Row, Stage, median, postgresql_answers
from db.engine import reading
from db.models import Job
from tests.support.processes import Process, eventually

FLUSHED = 10_000
_LEASE = {"LEASE_SECONDS": 5, "LOG_LEVEL": "INFO"}


def measure(stage: Stage) -> list[Row]:
    """Each on every database that is there."""
    rows = []
    for database in ["sqlite", *(["postgresql"] if postgresql_answers() else [])]:
        rows += [_publishing(stage, database), _flushed(stage, database), _killed(stage, database)]
    return rows


def _publishing(stage: Stage, database: str) -> Row:
    rate = median([_published_per_s(stage, database) for _ in range(ROUNDS)])
    return Row(f"relay publishes overdue jobs on {database}, per s", f"{rate:,.0f}", wanted="5,000")


def _published_per_s(stage: Stage, database: str) -> float:
    stage.use(database)
    from bench.noop_ledger import Nothing, noop
    from tasks.engine import unit_of_work
    from tasks.engine.relay import Relay

    with unit_of_work() as work:
        work.enqueue_batch("bench", [(noop, Nothing(number=number)) for number in range(FLUSHED)])
    relay, began = Relay(), time.perf_counter()
    while relay.tick():
        pass
    return FLUSHED / (time.perf_counter() - began)


def _flushed(stage: Stage, database: str) -> Row:
    stage.use(database)
    enqueue(FLUSHED)
    relay = Process(["-m", "tests.support.relay"], stage.folder / "relay.log", LOG_LEVEL="INFO")
    try:
        relay.printed("relay.started")
        with redis.Redis.from_url(stage.redis_url) as client:
            client.flushall()
            began = time.perf_counter()
            eventually(
                lambda: sum(client.llen(key) for key in client.keys("default*")) >= FLUSHED, within=120
            )
        return Row(
            f"{FLUSHED:,} jobs after FLUSHALL on {database}: all published again",
            f"{time.perf_counter() - began:.1f} s",
            wanted="60 s",
        )
    finally:
        relay.kill()


def _killed(stage: Stage, database: str) -> Row:
    stage.use(database)
    from tests.support.jobs import Script, scripted

    record = str(stage.folder / "record")
    for _ in range(2):
        scripted.delay(Script(record=record, act="sleep", seconds=15))
    relay = Process(["-m", "tests.support.relay"], stage.folder / "relay.log", **_LEASE)
    try:
        with stage.worker("tests.support.jobs", "default", **_LEASE) as first:
            eventually(lambda: _running() == 2, within=60, saying=first.log)
            with stage.worker("tests.support.jobs", "default", "-n", "second@%h", **_LEASE) as second:
                second.printed("second@")
                second.printed(" ready.")
                first.send_all(signal.SIGKILL)
                began = time.perf_counter()
                eventually(lambda: _second_starts() == 2, within=60)
                took = time.perf_counter() - began
        return Row(f"a SIGKILLed worker's jobs run again on {database}", f"{took:.1f} s", wanted="10 s")
    finally:
        relay.kill()


def _running() -> int:
    with reading() as session:
        return session.scalar(select(func.count()).where(Job.state == "running")) or 0


def _second_starts() -> int:
    with reading() as session:
        return session.scalar(select(func.count()).where(Job.state == "running", Job.attempts > 1)) or 0
