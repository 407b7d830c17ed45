"""The last hour by queue and type. Ids are made of time, so its rows are one range of the primary key."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Float, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.expression import FunctionElement

from db.models import Attempt, Job
from db.models.jobs import State

SPAN = timedelta(hours=1)
# Starts that ended well or were given back for no fault of their own are no failures.
_FAULTY = ("failed", "timed_out", "lost")


class seconds_between(FunctionElement[float]):  # noqa: N801  # reads as the SQL function it is
    """`seconds_between(later, earlier)`; NULL when either is."""

    type = Float()
    inherit_cache = True


@compiles(seconds_between, "sqlite")
def _sqlite(element: seconds_between, compiler: Any, **options: Any) -> str:
    later, earlier = (compiler.process(clause, **options) for clause in element.clauses)
    return f"({later} - {earlier})"


@compiles(seconds_between, "postgresql")
def _postgresql(element: seconds_between, compiler: Any, **options: Any) -> str:
    later, earlier = (compiler.process(clause, **options) for clause in element.clauses)
    return f"CAST(EXTRACT(EPOCH FROM {later} - {earlier}) AS double precision)"


def jobs_by_state(session: Session) -> list[tuple[str, str, str, int]]:
    """queue, type, state, count of the jobs submitted within the last hour."""
    query = (
        select(Job.queue, Job.type, Job.state, func.count())
        .where(Job.id >= _first_id())
        .group_by(Job.queue, Job.type, Job.state)
    )
    return [*session.execute(query)]


def durations(session: Session) -> list[tuple[str, str, list[float]]]:
    """queue, type, and in seconds the mean and longest wait and run of those that succeeded."""
    wait = seconds_between(Job.started_at, Job.created_at)
    run = seconds_between(Job.finished_at, Job.started_at)
    query = (
        select(Job.queue, Job.type, func.avg(wait), func.max(wait), func.avg(run), func.max(run))
        .where(Job.id >= _first_id(), Job.state == State.SUCCEEDED)
        .group_by(Job.queue, Job.type)
    )
    return [
        (queue, type_, [figure or 0.0 for figure in figures])
        for queue, type_, *figures in session.execute(query)
    ]


def failed_attempts(session: Session) -> list[tuple[str, str, int]]:
    """queue, type, count of the starts that failed within the last hour."""
    query = (
        select(Job.queue, Job.type, func.count())
        .join_from(Attempt, Job, Job.id == Attempt.job_id)
        .where(Attempt.id >= _first_id(), Attempt.outcome.in_(_FAULTY))
        .group_by(Job.queue, Job.type)
    )
    return [*session.execute(query)]


def _first_id() -> str:
    """The smallest UUIDv7 of the span: 48 bits of milliseconds come first (RFC 9562, section 5.7)."""
    since = int((datetime.now(UTC) - SPAN).timestamp() * 1000)
    return f"{since >> 16:08x}-{since & 0xFFFF:04x}-7000-8000-000000000000"
