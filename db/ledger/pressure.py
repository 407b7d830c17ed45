"""How full a queue is, and how much has been refused because of that."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects import postgresql, sqlite

from db.ledger.tables import jobs, refused_work
from db.models.jobs import State
from db.types import now


@dataclass(frozen=True, slots=True)
class Pressure:
    """`depth` is how many jobs wait for a worker; `age` how long the oldest message has been in the broker.

    A job that waits for a time (a start to come, a retry, its turn under a limit) does not wait for a worker.
    """

    depth: int
    age: timedelta


def pressure(connection: Connection, queue: str, *, most: int) -> Pressure:
    """The queue's pressure; `depth` is counted up to `most`. Both come from the index of unfinished jobs."""
    waiting = (jobs.c.due_at.is_not(None), jobs.c.queue == queue, jobs.c.state == State.QUEUED)
    some = select(jobs.c.queue).where(*waiting).limit(most).subquery()
    depth = connection.execute(select(func.count()).select_from(some)).scalar_one()
    oldest = connection.execute(
        select(jobs.c.published_at, now())
        .where(*waiting, jobs.c.published_at.is_not(None))
        .order_by(jobs.c.published_at)
        .limit(1)
    ).one_or_none()
    age = timedelta() if oldest is None else oldest[1] - oldest[0]
    return Pressure(depth, max(timedelta(), age))


def count_refused(connection: Connection, submissions: Mapping[tuple[str, str], int]) -> None:
    """Add to what queues have refused: (queue, priority) → submissions."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    for (queue, priority), count in submissions.items():
        new = dialect.insert(refused_work).values(
            queue=queue, priority=priority, submissions=count, last_at=now()
        )
        connection.execute(
            new.on_conflict_do_update(
                index_elements=["queue", "priority"],
                set_={
                    "submissions": refused_work.c.submissions + new.excluded.submissions,
                    "last_at": now(),
                },
            )
        )


def refused(connection: Connection) -> dict[tuple[str, str], int]:
    """(queue, priority) → submissions that were refused so far."""
    columns = (refused_work.c.queue, refused_work.c.priority, refused_work.c.submissions)
    return {(queue, priority): count for queue, priority, count in connection.execute(select(*columns))}
