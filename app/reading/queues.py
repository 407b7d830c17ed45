"""What waits in each queue, by the ledger and by the broker."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, select

from app.reading.jobs import iso
from app.reading.visible import NotFound
from config.queues import Queue
from db import ledger
from db.engine import reading
from db.ledger import Pause
from db.models import Job
from db.models.jobs import State
from tasks.engine.broker import depths
from tasks.engine.publisher import BrokerUnavailable


@dataclass(frozen=True)
class Backlog:
    """Unfinished jobs of one type in one state, and when the oldest of them was submitted."""

    queue: str
    type: str
    state: str
    jobs: int
    oldest: datetime


@dataclass
class QueueView:
    """One queue. `messages` is the broker's count, None while it does not answer."""

    name: str
    messages: int | None
    pause: Pause | None = None
    counts: dict[str, int] = field(default_factory=dict)
    oldest_queued: datetime | None = None

    @property
    def oldest_age(self) -> timedelta | None:
        """How long the oldest queued job has been waiting since it was submitted."""
        return datetime.now(UTC) - self.oldest_queued if self.oldest_queued else None

    def as_json(self) -> dict[str, Any]:
        """The queue as the API and the command line tell it; ages in seconds."""
        return {
            "queue": self.name,
            **{
                state.value: self.counts.get(state, 0)
                for state in (State.QUEUED, State.WAITING, State.RUNNING)
            },
            "oldest_queued_s": self.oldest_age and int(self.oldest_age.total_seconds()),
            "broker_messages": self.messages,
            "paused_at": self.pause and iso(self.pause.at),
            "paused_by": self.pause and self.pause.by,
        }


def backlogs() -> list[Backlog]:
    """The unfinished jobs by queue, type and state: one pass over an index that holds nothing else."""
    query = (
        select(Job.queue, Job.type, Job.state, func.count(), func.min(Job.created_at))
        .where(Job.due_at.is_not(None))
        .group_by(Job.queue, Job.type, Job.state)
    )
    with reading() as session:
        return [Backlog(*row) for row in session.execute(query)]


def list_queues() -> list[QueueView]:
    """Every declared queue, empty ones too."""
    messages, resting = broker_messages(), pauses()
    views = {
        queue.value: QueueView(queue.value, messages.get(queue) if messages else None, resting.get(queue))
        for queue in Queue
    }
    for backlog in backlogs():
        view = views.setdefault(backlog.queue, QueueView(backlog.queue, None))
        view.counts[backlog.state] = view.counts.get(backlog.state, 0) + backlog.jobs
        if backlog.state == State.QUEUED:
            view.oldest_queued = min(backlog.oldest, view.oldest_queued or backlog.oldest)
    return list(views.values())


def find_queue(name: str) -> QueueView:
    """The queue of that name. Raises NotFound."""
    for queue in list_queues():
        if queue.name == name:
            return queue
    raise NotFound(name)


def pauses() -> dict[str, Pause]:
    """The paused queues by name, as they are now."""
    with reading() as session:
        return ledger.pauses(session.connection())


def broker_messages() -> dict[Queue, int] | None:
    """Messages per queue, or None while the broker does not answer."""
    try:
        return depths()
    except BrokerUnavailable:
        return None
