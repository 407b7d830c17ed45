"""A deep backlog that waits for ten minutes: how many of its messages the relay publishes more than once."""

import time

import redis

from bench.stage import Row, Stage, postgresql_answers
from tests.support.processes import Process

DEPTH = 100_000
WAIT_S = 600


def measure(stage: Stage) -> list[Row]:
    """Over each database that is there, while a worker takes two jobs a second."""
    databases = ["sqlite", *(["postgresql"] if postgresql_answers() else [])]
    return [_waiting(stage, database) for database in databases]


def _waiting(stage: Stage, database: str) -> Row:
    stage.use(database)
    from tasks.engine import unit_of_work
    from tests.support.jobs import Script, scripted

    script = Script(record=str(stage.folder / "record"), act="doze", seconds=1)
    relay = Process(["-m", "tests.support.relay"], stage.folder / "relay.log", LOG_LEVEL="INFO")
    try:
        with unit_of_work() as work:
            work.enqueue_batch("bench", [(scripted, script)] * DEPTH)
        with stage.worker("tests.support.jobs", "default"):
            time.sleep(WAIT_S)
        with redis.Redis.from_url(stage.redis_url) as client:
            # Every message that was ever published is one push.
            again = client.info("commandstats")["cmdstat_lpush"]["calls"] - DEPTH
    finally:
        relay.kill()
    return Row(
        f"{DEPTH:,} jobs kept waiting {WAIT_S // 60} min on {database}: published again",
        f"{again:,}",
        f"{again / DEPTH:.2%}",
        "under 1 %",
    )
