"""Builders over the ledger of the test's database: a job, a started job, a dead letter, and what became of them."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from typing import Any, TypeVar

from sqlalchemy import Row, Table, select, update

from db import ledger
from db.engine import autocommit, transaction
from db.ledger.tables import attempts, dead_letters, idempotency_keys, jobs
from db.types import now

T = TypeVar("T")

A_LEASE = timedelta(seconds=30)
A_FAILURE = ledger.Failure("failed", "mailer_unavailable", "The mail server does not answer.", "trace")
_NEW = ledger.NewJob("tests.scripted", "default", {"record": "none"}, 1, created_by="token:1")


def add_job(**fields: Any) -> str:
    """A queued job; `run_at` and the other fields of `NewJob` as given."""
    with transaction() as connection:
        return ledger.enqueue(connection, [replace(_NEW, **fields)])[0]


def start_job(job_id: str | None = None, *, worker: str = "worker@here:1", **fields: Any) -> ledger.Start:
    """A running job and its start."""
    with transaction() as connection:
        start = ledger.claim(connection, job_id or _add(connection, fields), worker=worker, lease=A_LEASE)
    assert start is not None, "there was nothing to claim"
    return start


def bury_job(*, reason: str = "permanent", **fields: Any) -> tuple[str, str]:
    """A dead job; returns its id and its letter's."""
    start = start_job(**fields)
    with transaction() as connection:
        return start.job_id, ledger.bury(connection, start, A_FAILURE, letter_for(start, reason))


def letter_for(start: ledger.Start, reason: str = "permanent") -> ledger.Letter:
    """A letter about this start."""
    return ledger.Letter(start.job_id, start.type, "default", "tests", reason, "a_code", "A message.")


def expire(start: ledger.Start) -> None:
    """Let the lease of this start run out."""
    pass_time(start.job_id)


def pass_time(job_id: str, by: timedelta = timedelta(hours=2)) -> None:
    """Make the job's `due_at` lie `by` in the past."""
    with transaction() as connection:
        connection.execute(update(jobs).where(jobs.c.id == job_id).values(due_at=now(-by)))


def job_row(job_id: str) -> Row[Any]:
    """The job's row."""
    return _rows(jobs, jobs.c.id == job_id)[0]


def attempts_of(job_id: str) -> list[Row[Any]]:
    """The job's unsuccessful starts, oldest first."""
    return _rows(attempts, attempts.c.job_id == job_id)


def letters(**fields: Any) -> list[Row[Any]]:
    """Dead letters, oldest first."""
    return _rows(dead_letters, *(dead_letters.c[name] == value for name, value in fields.items()))


def key_row(key: str) -> Row[Any] | None:
    """The idempotency key's row, or None."""
    with transaction() as connection:
        return connection.execute(select(idempotency_keys).where(idempotency_keys.c.key == key)).one_or_none()


def at_once(act: Callable[[int], T], *, times: int) -> list[T]:
    """Call `act(0)` … in as many threads, started together; the results in order."""
    barrier = Barrier(times)

    def run(number: int) -> T:
        barrier.wait()
        return act(number)

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(run, range(times)))


def _add(connection: Any, fields: dict[str, Any]) -> str:
    return ledger.enqueue(connection, [replace(_NEW, **fields)])[0]


def _rows(table: Table, *where: Any) -> list[Row[Any]]:
    # Tests ask again and again while others write: without a transaction, that keeps nobody waiting.
    with autocommit() as connection:
        found: Iterable[Row[Any]] = connection.execute(select(table).where(*where).order_by(table.c.id))
        return list(found)
