"""How things stand now: queues, failures, and whether the parts answer."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select

from app.operations.readiness import readiness
from app.operations.recent import failed_attempts, jobs_by_state
from app.operations.relay import LATE, behind
from app.pages.figures import duration
from app.reading.queues import QueueView, list_queues
from db.engine import reading
from db.models import Attempt, DeadLetter, Job
from db.models.jobs import State
from tasks.canary import sing

_FAULTY = ("failed", "timed_out", "lost")
_RECENT = 10


@dataclass(frozen=True)
class Part:
    """One part of the system: whether it works, and what is to be said about it."""

    name: str
    works: bool
    says: str


@dataclass(frozen=True)
class QueueRow:
    """One queue with the starts that failed within the last hour."""

    view: QueueView
    failed: int


@dataclass(frozen=True)
class RecentFailure:
    """A start that did not succeed."""

    job_id: str
    type: str
    state: str
    number: int
    outcome: str
    code: str
    message: str
    ended_at: datetime


@dataclass(frozen=True)
class LastHour:
    """What was submitted within the last hour, what of it is done, and by queue the starts that failed in it."""

    submitted: int
    succeeded: int
    failed_starts: dict[str, int]


def parts() -> list[Part]:
    """Database, broker and relay, found out by asking them, and what stands still. Takes a second or two."""
    faults, stalled = readiness()
    known = {"database": "answers, and is migrated", "broker": "answers"}
    found = [
        Part(name.capitalize(), name not in faults, faults.get(name, well)) for name, well in known.items()
    ]
    if "database" not in faults:
        found.append(_relay())
    return found + [Part(name.capitalize(), works=False, says=why) for name, why in stalled.items()]


def queue_rows(last_hour: LastHour) -> list[QueueRow]:
    """Every declared queue."""
    return [QueueRow(view, last_hour.failed_starts.get(view.name, 0)) for view in list_queues()]


def last_hour() -> LastHour:
    """Counted from the ledger. Canaries, which nobody submits, count only where they fail."""
    with reading() as session:
        states, failed = jobs_by_state(session), failed_attempts(session)
    outcomes = Counter[str]()
    for _queue, type_, state, count in states:
        if type_ != sing.name:
            outcomes[state] += count
    by_queue: dict[str, int] = {}
    for queue, _type, count in failed:
        by_queue[queue] = by_queue.get(queue, 0) + count
    return LastHour(
        submitted=outcomes.total(),
        succeeded=outcomes[State.SUCCEEDED],
        failed_starts=by_queue,
    )


def open_letters() -> int:
    """Dead letters that wait for a person."""
    with reading() as session:
        query = select(func.count()).select_from(DeadLetter).where(DeadLetter.resolution.is_(None))
        return session.scalar(query) or 0


def recent_failures() -> list[RecentFailure]:
    """The last ten, newest first."""
    query = (
        select(
            Attempt.job_id,
            Job.type,
            Job.state,
            Attempt.number,
            Attempt.outcome,
            Attempt.error_code,
            Attempt.error_message,
            Attempt.ended_at,
        )
        .join(Job, Job.id == Attempt.job_id)
        .where(Attempt.outcome.in_(_FAULTY))
        .order_by(Attempt.id.desc())
        .limit(_RECENT)
    )
    with reading() as session:
        return [RecentFailure(*row) for row in session.execute(query)]


def _relay() -> Part:
    late = behind()
    if late < LATE:
        return Part("Relay", works=True, says="nothing is overdue")
    return Part("Relay", works=False, says=f"a job is overdue by {duration(late)}; no relay seems to run")
