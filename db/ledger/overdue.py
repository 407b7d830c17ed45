"""What is due and has no message in the broker: the relay takes it, publishes it and marks it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, or_, select, update

from db.ledger.tables import jobs, paused_queues
from db.models.jobs import State
from db.types import now

# How long a relay may take to publish what it took; after that another relay (or its next tick) does.
RELAY_LEASE = timedelta(seconds=30)
# How long a published message may lie in the broker before its job counts as overdue again.
PATIENCE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Due:
    """A job whose message must be sent (again)."""

    id: str
    type: str
    queue: str
    priority: str
    # In a message of its own: it may have taken a worker down, and others must not go with it again.
    alone: bool = False


def take_overdue(connection: Connection, *, limit: int) -> list[Due]:
    """Up to `limit` queued or waiting jobs that are due, now queued and held for this relay alone.

    Those of paused queues stay as they are.
    """
    due = (
        select(jobs.c.id)
        .where(
            jobs.c.due_at <= now(),
            jobs.c.state.in_((State.QUEUED, State.WAITING)),
            jobs.c.queue.not_in(select(paused_queues.c.queue)),
        )
        .order_by(jobs.c.due_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
        # As a subquery PostgreSQL may run it once for each row, finding others every time, past the limit.
        .cte("due")
    )
    taken = connection.execute(
        update(jobs)
        .where(jobs.c.id.in_(select(due.c.id)))
        .values(state=State.QUEUED, due_at=now(RELAY_LEASE), published_at=None)
        .returning(
            jobs.c.id, jobs.c.type, jobs.c.queue, jobs.c.priority, or_(jobs.c.losses > 0, jobs.c.suspect)
        )
    )
    # UUIDv7: the order of ids is the order of arrival, which RETURNING does not keep.
    return sorted((Due(*row) for row in taken), key=lambda job: job.id)


def next_due(connection: Connection) -> timedelta | None:
    """How long until the next unfinished job is due; None when none is going to be."""
    row = connection.execute(
        select(jobs.c.due_at, now()).where(jobs.c.due_at > now()).order_by(jobs.c.due_at).limit(1)
    ).one_or_none()
    return None if row is None else row[0] - row[1]


def mark_published(connection: Connection, job_ids: Sequence[str]) -> None:
    """The broker has these messages. A job that a worker was faster to take is left alone, also when it is queued
    again by now: then it is due, and its message is gone.
    """
    connection.execute(
        update(jobs)
        .where(jobs.c.id.in_(job_ids), jobs.c.state == State.QUEUED, jobs.c.due_at > now())
        .values(published_at=now(), due_at=now(PATIENCE))
    )
