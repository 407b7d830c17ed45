"""What waits in each queue, by the ledger and by the broker."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from sqlalchemy import func, select

from config.queues import Queue
from db.engine import reading
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
    counts: dict[str, int] = field(default_factory=dict)
    oldest_queued: datetime | None = None

    @property
    def oldest_age(self) -> timedelta | None:
        """How long the oldest queued job has been waiting since it was submitted."""
        return datetime.now(UTC) - self.oldest_queued if self.oldest_queued else None


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
    messages = broker_messages()
    views = {
        queue.value: QueueView(queue.value, messages.get(queue) if messages else None) for queue in Queue
    }
    for backlog in backlogs():
        view = views.setdefault(backlog.queue, QueueView(backlog.queue, None))
        view.counts[backlog.state] = view.counts.get(backlog.state, 0) + backlog.jobs
        if backlog.state == State.QUEUED:
            view.oldest_queued = min(backlog.oldest, view.oldest_queued or backlog.oldest)
    return list(views.values())


def broker_messages() -> dict[Queue, int] | None:
    """Messages per queue, or None while the broker does not answer."""
    try:
        return depths()
    except BrokerUnavailable:
        return None
