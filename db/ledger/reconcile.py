"""The ledger's side of comparing notes with the broker."""

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection, case, func, select, update

from db.ledger.overdue import PATIENCE
from db.ledger.tables import jobs
from db.models.jobs import State
from db.types import now

# A message that a worker has just taken is in no queue, and its job not yet running.
SETTLING = timedelta(seconds=5)
# At most this many at a time, so that no look takes long.
_MOST = 10_000

_published = (jobs.c.due_at.is_not(None), jobs.c.state == State.QUEUED)


def missing(connection: Connection, queue: str, *, held: int) -> list[str]:
    """The queue's jobs that `held` messages in the broker cannot account for.

    Messages of one priority are served in order, so what was published longest ago has most likely lost its
    message. A wrong guess costs a message that finds nothing to do.
    """
    settled = (*_published, jobs.c.queue == queue, jobs.c.published_at <= now(-SETTLING))
    waiting = connection.execute(select(func.count()).select_from(jobs).where(*settled)).scalar_one()
    if waiting <= held:
        return []
    rank = case({"high": 0, "normal": 1}, value=jobs.c.priority, else_=2)
    return list(
        connection.scalars(
            select(jobs.c.id)
            .where(*settled)
            .order_by(rank, jobs.c.published_at)
            .limit(min(waiting - held, _MOST))
        )
    )


def publish_again(connection: Connection, job_ids: Sequence[str]) -> int:
    """Their messages are lost: due at once. Returns how many were still waiting."""
    return connection.execute(
        update(jobs).where(jobs.c.id.in_(job_ids), *_published).values(due_at=now(), published_at=None)
    ).rowcount


def still_held(connection: Connection, queue: str) -> int:
    """The broker holds a message for each published job of the queue: give those more time that soon run out of it.

    Without this a backlog deeper than PATIENCE would be published again and again.
    """
    soon = (
        select(jobs.c.id)
        .where(
            *_published,
            jobs.c.queue == queue,
            jobs.c.published_at.is_not(None),
            jobs.c.due_at <= now(PATIENCE / 2),
        )
        .limit(_MOST)
        # Not as a subquery: see `take_overdue`.
        .cte("soon")
    )
    return connection.execute(
        update(jobs).where(jobs.c.id.in_(select(soon.c.id)), *_published).values(due_at=now(PATIENCE))
    ).rowcount
