"""A burst under a limit: how late each job starts after the turn it was given, and whether any starts early."""

from datetime import datetime, timedelta

from sqlalchemy import select

from bench.stage import Row, Stage, percentile, postgresql_answers
from db.engine import reading
from db.models import Job
from tests.support.processes import Process, eventually

JOBS = 100
LIMIT, WINDOW = 10, timedelta(seconds=1)


def measure(stage: Stage) -> list[Row]:
    """Over each database that is there, with a relay and two pool processes."""
    databases = ["sqlite", *(["postgresql"] if postgresql_answers() else [])]
    return [row for database in databases for row in _burst(stage, database)]


def _burst(stage: Stage, database: str) -> list[Row]:
    stage.use(database)
    from bench.noop_ledger import Nothing, limited_noop
    from tasks.engine import unit_of_work

    turns: dict[str, datetime] = {}

    def all_started() -> bool:
        turns.update({job_id: turn for job_id, turn in _waiting() if job_id not in turns})
        return stage.ticks >= JOBS

    relay = Process(["-m", "tests.support.relay"], stage.folder / "relay.log", LOG_LEVEL="INFO")
    try:
        relay.printed("relay.started")
        with stage.worker("bench.noop_ledger", "default", LOG_LEVEL="INFO") as worker:
            worker.printed(" ready.")
            with unit_of_work() as work:
                for number in range(JOBS):
                    work.enqueue(limited_noop, Nothing(number=number))
            eventually(all_started, within=120)
    finally:
        relay.kill()
    return _report(database, turns, _starts())


def _report(database: str, turns: dict[str, datetime], starts: dict[str, datetime]) -> list[Row]:
    late = [(starts[job_id] - turn).total_seconds() for job_id, turn in turns.items()]
    ordered = sorted(starts.values())
    crowded = sum(later - first < WINDOW for first, later in zip(ordered, ordered[LIMIT:], strict=False))
    what = f"{JOBS} jobs under {LIMIT}/s on {database}"
    return [
        Row(
            f"{what}: start after own turn",
            f"p50 {percentile(late, 0.5):.2f} s, max {max(late):.2f} s",
            wanted="max 2 s",
        ),
        Row(
            f"{what}: before own turn, beyond {LIMIT} in a window",
            f"{sum(wait < 0 for wait in late)} of {len(late)}, {crowded} of {len(starts)}",
            wanted="0, 0",
        ),
    ]


def _waiting() -> list[tuple[str, datetime]]:
    with reading() as session:
        return [
            (id_, turn)
            for id_, turn in session.execute(select(Job.id, Job.due_at).where(Job.state == "waiting"))
            if turn
        ]


def _starts() -> dict[str, datetime]:
    with reading() as session:
        return {id_: at for id_, at in session.execute(select(Job.id, Job.started_at)) if at}
