"""Pausing a queue: its unfinished jobs stay where they are, and none starts until it is resumed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, delete, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from db.ledger.letters import audit
from db.ledger.tables import jobs, paused_queues
from db.models.jobs import State
from db.types import now


@dataclass(frozen=True, slots=True)
class Pause:
    """Since when a queue is paused, and who did it."""

    queue: str
    at: datetime
    by: str


def pause(connection: Connection, queue: str, *, actor: str) -> bool:
    """Pause the queue; False if it was paused before, which leaves that pause as it is. What runs, runs on."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    begun = connection.execute(
        dialect.insert(paused_queues)
        .values(queue=queue, paused_by=actor)
        .on_conflict_do_nothing()
        .returning(paused_queues.c.queue)
    ).one_or_none()
    if begun is None:
        return False
    audit(connection, actor=actor, action="queue.paused", target=queue, details={})
    return True


def resume(connection: Connection, queue: str, *, actor: str) -> bool:
    """Let its jobs start again, those that have been waiting longest first; False if it was not paused."""
    ended = connection.execute(
        delete(paused_queues)
        .where(paused_queues.c.queue == queue)
        .returning(paused_queues.c.paused_at, paused_queues.c.paused_by)
    ).one_or_none()
    if ended is None:
        return False
    details = {"paused_at": ended.paused_at.isoformat(), "paused_by": ended.paused_by}
    audit(connection, actor=actor, action="queue.resumed", target=queue, details=details)
    return True


def pauses(connection: Connection) -> dict[str, Pause]:
    """Every paused queue by its name."""
    return {row.queue: Pause(*row) for row in connection.execute(select(paused_queues))}


def put_back(connection: Connection, job_ids: Sequence[str]) -> set[str]:
    """Those of the jobs that a paused queue holds: queued, without a message and without a start that counts.

    They keep their place by age, so that what waits longest goes first when the queue is resumed.
    """
    held = connection.scalars(
        update(jobs)
        .where(
            jobs.c.id.in_(job_ids),
            jobs.c.queue.in_(select(paused_queues.c.queue)),
            or_(jobs.c.state == State.QUEUED, and_(jobs.c.state == State.WAITING, jobs.c.due_at <= now())),
        )
        .values(state=State.QUEUED, due_at=jobs.c.created_at, published_at=None)
        .returning(jobs.c.id)
    )
    return set(held)
