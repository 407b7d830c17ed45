"""Do a million rows make anything slower than ten thousand?"""

import time
from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import select, text

from bench.stage import Row, Stage, median, postgresql_answers
from db import ledger
from db.engine import autocommit, get_engine, reading, transaction
from db.models import Job

FEW, MANY = 10_000, 1_000_000
REPEATS = 200
_SERIES = {
    "sqlite": "WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < :rows) SELECT n FROM s",
    "postgresql": "SELECT n FROM generate_series(1, :rows) AS s(n)",
}
_ID = {"sqlite": "printf('%032x', n)", "postgresql": "lpad(to_hex(n), 32, '0')::uuid"}
_NOW = {"sqlite": "julianday('now') * 86400", "postgresql": "now()"}
_NEW = ledger.NewJob("bench.noop", "default", {"number": 1}, 1, created_by="bench")


def measure(stage: Stage) -> list[Row]:
    """The worst of the statements' ratios is what counts; each is shown."""
    rows = []
    for database in ["sqlite", *(["postgresql"] if postgresql_answers() else [])]:
        few, many = _timings(stage, database, FEW), _timings(stage, database, MANY)
        rows += [
            Row(
                f"{name} on {database}",
                f"{many[name] * 1e6:,.0f} µs",
                f"{many[name] / few[name]:.2f}",
                "under 1.3",
            )
            for name in few
        ]
    return rows


def _timings(stage: Stage, database: str, rows: int) -> dict[str, float]:
    stage.use(database)
    _fill(database, rows)
    starts: list[ledger.Start] = []
    ids: list[str] = []

    def enqueue() -> None:
        with transaction() as connection:
            ids.extend(ledger.enqueue(connection, [_NEW]))

    def claim() -> None:
        with autocommit(durable=False) as connection:
            start = ledger.claim(connection, ids[len(starts)], worker="bench", lease=timedelta(seconds=60))
        starts.append(start)  # type: ignore[arg-type]  # just enqueued, so it is there to claim

    def finish() -> None:
        with autocommit() as connection:
            ledger.finish(connection, starts.pop(), None)

    return {
        "enqueue": _each(enqueue),
        "claim": _each(claim),
        "finish": _each(finish),
        "newest jobs": _each(lambda: _read(select(Job).order_by(Job.id.desc()).limit(50))),
        "dead jobs": _each(
            lambda: _read(
                select(Job)
                .where(Job.state == "dead", Job.error_code.is_not(None))
                .order_by(Job.id.desc())
                .limit(50)
            )
        ),
    }


def _each(act: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return median(times)


def _read(query: object) -> None:
    with reading() as session:
        session.scalars(query).all()  # type: ignore[call-overload]  # one of the selects above


def _fill(database: str, rows: int) -> None:
    """Finished jobs, one in a hundred dead."""
    with get_engine().begin() as connection:
        connection.execute(
            text(
                f"""INSERT INTO jobs (id, type, queue, priority, payload, payload_version, state, attempts, failures,
                losses, error_code, created_by, created_at)
                SELECT {_ID[database]}, 'bench.noop', 'default', 'normal', '{{"number": 1}}', 1,
                CASE WHEN n % 100 = 0 THEN 'dead' ELSE 'succeeded' END, 1, 0, 0,
                CASE WHEN n % 100 = 0 THEN 'bug' END, 'bench', {_NOW[database]} FROM ({_SERIES[database]}) AS numbers"""
            ),
            {"rows": rows},
        )
    with autocommit() as connection:
        connection.execute(text("ANALYZE"))
