"""From the enqueuing commit to the job's start, on an idle stack."""

import time

from sqlalchemy import select

from bench.stage import Row, Stage, percentile, postgresql_answers
from db.engine import reading
from db.models import Job
from tests.support.processes import eventually

JOBS = 200


def measure(stage: Stage) -> list[Row]:
    """One job at a time, each with a pause before it, as a person's form would come."""
    rows = []
    for database in ["sqlite", *(["postgresql"] if postgresql_answers() else [])]:
        stage.use(database)
        with stage.worker("bench.noop_ledger", "default"):
            waits = _waits(stage)
        rows.append(
            Row(
                f"accepted → started on {database}",
                f"p50 {percentile(waits, 0.5) * 1000:.0f} ms, p99 {percentile(waits, 0.99) * 1000:.0f} ms",
            )
        )
    return rows


def _waits(stage: Stage) -> list[float]:
    from bench.noop_ledger import Nothing, noop

    for number in range(JOBS):
        noop.delay(Nothing(number=number))
        eventually(lambda done=number + 1: stage.ticks >= done, within=60)  # type: ignore[misc]
        time.sleep(0.02)
    with reading() as session:
        jobs = session.execute(select(Job.created_at, Job.started_at)).all()
    return [(started - created).total_seconds() for created, started in jobs if started]
