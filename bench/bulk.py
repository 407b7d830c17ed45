"""The bulk lane: no-ops per second, each with its row and outcome, and how fast ten thousand are accepted."""

import time

from bench.stage import Row, Stage, median, postgresql_answers
from tests.support.processes import eventually

JOBS = 20_000
ACCEPTED = 10_000
ROUNDS = 3


def measure(stage: Stage) -> list[Row]:
    """Two pool processes, as everywhere here."""
    rows = []
    for database in ["sqlite", *(["postgresql"] if postgresql_answers() else [])]:
        rates, waits = [], []
        for _ in range(ROUNDS):
            rate, wait = _round(stage, database)
            rates.append(rate)
            waits.append(wait)
        rows.append(Row(f"bulk lane on {database}, jobs/s", f"{median(rates):,.0f}", wanted="15,000"))
        rows.append(
            Row(f"{ACCEPTED:,} jobs as one batch on {database}", f"{median(waits):.2f} s", wanted="1 s")
        )
    return rows


def _round(stage: Stage, database: str) -> tuple[float, float]:
    stage.use(database)
    from bench.noop_ledger import Nothing, bulk_noop
    from tasks.engine import unit_of_work
    from tasks.engine.relay import Relay

    members = [(bulk_noop, Nothing(number=number)) for number in range(ACCEPTED)]
    began = time.perf_counter()
    with unit_of_work() as work:
        work.enqueue_batch("bench", members)
    accepted = time.perf_counter() - began
    with unit_of_work() as work:
        work.enqueue_batch(
            "bench", [(bulk_noop, Nothing(number=number)) for number in range(JOBS - ACCEPTED)]
        )
    relay = Relay()
    while relay.tick():
        pass
    with stage.worker("bench.noop_ledger", "default"):
        eventually(lambda: stage.ticks >= JOBS * 0.05, within=120)
        began, first = time.perf_counter(), stage.ticks
        eventually(lambda: stage.ticks >= JOBS * 0.95, within=300)
        return (stage.ticks - first) / (time.perf_counter() - began), accepted
