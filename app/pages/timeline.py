"""The steps of a job as its page shows them: what is past, where it stands, what lies ahead."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from app.pages.figures import duration
from app.pages.words import state_word
from app.reading.jobs import JobView
from db.models.jobs import State


@dataclass(frozen=True)
class Step:
    """One line: `sign` names the shape, `at` is when it began (for a wait: when it ends)."""

    kind: Literal["past", "current", "ahead"]
    sign: str
    title: str
    at: datetime | None = None
    note: str = ""
    failed: bool = False


def timeline(job: JobView) -> list[Step]:
    """Accepted, queued, running, done, as far as the job has come, with a retry's wait in between."""
    steps = [Step("past", "past", "Accepted", job.created_at, f"Queue {job.queue}, {job.priority} priority")]
    if job.started_at is not None:
        steps.append(_queued(job))
        steps.append(_start(job))
    match job.state:
        case State.QUEUED:
            again = "for another attempt" if job.attempts else "for a free worker"
            steps.append(Step("current", "queued", "Queued", note=f"Waits {again}"))
        case State.WAITING:
            what = "the next attempt" if job.attempts else "its start time"
            steps.append(Step("current", "waiting", f"Waiting for {what}", job.due_at))
        case State.RUNNING if job.cancel_requested:
            steps.append(Step("ahead", "ahead", "Stops", note="Cancelled; it stops at its next checkpoint"))
            return steps
    if job.final:
        failed = job.state == State.DEAD
        title = state_word(job.state)
        return [*steps, Step("current", job.state, title, job.finished_at, _took(job), failed=failed)]
    ahead = [state_word(State.SUCCEEDED)]
    if job.started_at is None:
        ahead.insert(0, state_word(State.RUNNING))
    return [*steps, *(Step("ahead", "ahead", title) for title in ahead)]


def _queued(job: JobView) -> Step:
    first_start = job.attempts == 1 and job.started_at is not None
    note = f"Waited {duration(job.started_at - job.created_at)}" if first_start and job.started_at else ""
    return Step("past", "past", "Queued", note=note)


def _start(job: JobView) -> Step:
    if job.state == State.RUNNING:
        return Step("current", "running", "Running", job.started_at, _attempts(job))
    return Step("past", "past", "Ran", job.started_at, _attempts(job))


def _attempts(job: JobView) -> str:
    if job.attempts == 0:
        return ""
    of = f" of up to {job.max_attempts}" if job.max_attempts and job.attempts <= job.max_attempts else ""
    return f"Attempt {job.attempts}{of}"


def _took(job: JobView) -> str:
    if job.started_at is None or job.finished_at is None or job.state != State.SUCCEEDED:
        return ""
    return f"Took {duration(job.finished_at - job.started_at)}"
