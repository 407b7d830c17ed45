"""No-op jobs per second: through the ledger, on bare Celery, and on Celery as most people run it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta

import bench.noop_ledger  # noqa: F401  # declares the job that is published
from bench.stage import Row, Stage, median, postgresql_answers
from db import ledger
from db.engine import transaction
from tasks.engine.relay import Relay
from tests.support.processes import eventually

JOBS = int(os.environ.get("BENCH_JOBS", "4000"))
ROUNDS = 3
_PUBLISH_BARE = """
from bench.noop_bare import app, noop
with app.pool.acquire(block=True) as connection, app.amqp.Producer(connection) as producer, producer.batch():
    for number in range({jobs}):
        noop.apply_async((number,), producer=producer)
"""


def measure(stage: Stage) -> list[Row]:
    """Rounds are interleaved (A B C, A B C, …), so that the machine's moods hit all alike."""
    databases = ["sqlite", *(["postgresql"] if postgresql_answers() else [])]
    runs: dict[str, Callable[[], float]] = {
        "bare Celery, acks_late": lambda: _bare(stage, typical=False),
        "Celery with Redis results and events": lambda: _bare(stage, typical=True),
        **{f"the ledger on {name}": lambda name=name: _ledger(stage, name) for name in databases},  # type: ignore[misc]
    }
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            rates[name].append(run())
    found = {name: median(values) for name, values in rates.items()}
    bare, typical = found["bare Celery, acks_late"], found["Celery with Redis results and events"]
    wanted = {"sqlite": "0.85 / 1.0", "postgresql": "0.75 / 1.0"}
    return [
        Row(
            f"{name}, jobs/s",
            f"{rate:,.0f}",
            f"{rate / bare:.2f} of bare, {rate / typical:.2f} of typical",
            next((limit for database, limit in wanted.items() if name.endswith(database)), ""),
        )
        for name, rate in found.items()
    ]


def _ledger(stage: Stage, database: str) -> float:
    stage.use(database)
    enqueue(JOBS)
    with stage.worker("bench.noop_ledger", "default"):
        return _rate(stage)


def _bare(stage: Stage, *, typical: bool) -> float:
    stage.use("sqlite")
    flag = "1" if typical else ""
    subprocess.run(
        [sys.executable, "-c", _PUBLISH_BARE.format(jobs=JOBS)],
        check=True,
        env={**os.environ, "BENCH_TYPICAL": flag},
    )
    options = ["-E"] if typical else []
    with stage.worker("bench.noop_bare", "celery", *options, BENCH_TYPICAL=flag):
        return _rate(stage)


def enqueue(jobs: int) -> None:
    """Put no-ops into the ledger and publish them, as a relay would."""
    new = ledger.NewJob("bench.noop", "default", {"number": 1}, 1, created_by="bench")
    with transaction() as connection:
        ledger.enqueue(connection, [new] * jobs, grace=timedelta())
    relay = Relay()
    while relay.tick():
        pass


def _rate(stage: Stage) -> float:
    """Between 5 % and 95 % of the jobs, so that neither the start nor the tail counts."""
    eventually(lambda: stage.ticks >= JOBS * 0.05, within=120)
    began, first = time.perf_counter(), stage.ticks
    eventually(lambda: stage.ticks >= JOBS * 0.95, within=600)
    return (stage.ticks - first) / (time.perf_counter() - began)
