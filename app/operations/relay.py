"""Whether relays do their work, judged by what they leave undone: they may run on another machine."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import select

from db.engine import reading
from db.models import Job, PausedQueue
from db.models.jobs import State

# The relay looks at least twice a second; a job that is overdue for much longer has no relay.
LATE = timedelta(seconds=10)


def behind() -> timedelta:
    """How long the most overdue job has been so; zero when none is. Jobs of paused queues are not overdue."""
    query = (
        select(Job.due_at)
        .where(
            Job.due_at.is_not(None),
            Job.state.in_((State.QUEUED, State.WAITING)),
            Job.queue.not_in(select(PausedQueue.queue)),
        )
        .order_by(Job.due_at)
        .limit(1)
    )
    with reading() as session:
        due_at = session.scalar(query)
    return max(timedelta(), datetime.now(UTC) - due_at) if due_at else timedelta()
