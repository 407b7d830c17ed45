"""Batches: jobs that were submitted together, and what comes after the last of them.

Nothing is counted beside the rows, so nothing can be miscounted: a batch is complete when it has no unfinished job.
At every look the relay asks that of each batch that somebody waits for, so no move of a job need think of it.
"""

from dataclasses import asdict
from datetime import timedelta

from sqlalchemy import Connection, case, exists, func, insert, select, update

from db.ledger.cancel import CANCELLED
from db.ledger.enqueue import NewJob, enqueue
from db.ledger.tables import batches, jobs
from db.models.jobs import State
from db.types import new_id, now

# As many as one transaction changes, so that none holds SQLite's write lock for long.
_AT_ONCE = 1000

# A running job keeps its columns until its checkpoint.
_CANCELLED = {
    "cancel_requested_at": now(),
    **{
        name: case((jobs.c.state == State.RUNNING, jobs.c[name]), else_=value)
        for name, value in {
            "state": State.CANCELLED,
            "due_at": None,
            "published_at": None,
            "finished_at": now(),
            **CANCELLED,
        }.items()
    },
}
# Of its own index, in which finished jobs are not.
_UNFINISHED = (jobs.c.finished_at.is_(None), jobs.c.batch_id == batches.c.id)


def open_batch(connection: Connection, *, kind: str, total: int, created_by: str) -> str:
    """Insert a batch that `total` jobs will name, and return its id."""
    id_ = new_id()
    connection.execute(insert(batches).values(id=id_, kind=kind, total=total, created_by=created_by))
    return id_


def await_batch(connection: Connection, batch_id: str, then: NewJob) -> None:
    """Enqueue `then` once, when every job of the batch is final, whatever became of each."""
    new = {name: value for name, value in asdict(then).items() if value is not None}
    connection.execute(update(batches).where(batches.c.id == batch_id).values(on_complete=new))


def complete_batches(connection: Connection, *, limit: int = 100) -> list[str]:
    """Enqueue what comes after the batches that are complete by now; returns the new jobs' ids.

    The conditional UPDATE and its jobs are one commit, so each batch is completed once, however many ask.
    """
    complete = connection.scalars(
        select(batches.c.id)
        .where(
            batches.c.completed_at.is_(None),
            batches.c.on_complete.is_not(None),
            ~exists().where(*_UNFINISHED),
        )
        .order_by(batches.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    if not complete:
        return []
    completed = connection.scalars(
        update(batches)
        .where(batches.c.id.in_(complete), batches.c.completed_at.is_(None))
        .values(completed_at=now())
        .returning(batches.c.on_complete)
    ).all()
    return enqueue(connection, [NewJob(**new) for new in completed], grace=timedelta())


def cancel_some(connection: Connection, batch_id: str) -> int:
    """Cancel up to 1,000 unfinished jobs of the batch: at once what waits, at its next checkpoint what runs.

    Returns how many were asked to stop; 0 when none is left to be asked.
    """
    members = (
        jobs.c.batch_id == batch_id,
        jobs.c.finished_at.is_(None),
        jobs.c.cancel_requested_at.is_(None),
    )
    some = select(jobs.c.id).where(*members)
    # Waiting for many rows at once could meet a worker that waits for ours; waiting for one cannot.
    ids = (
        connection.scalars(some.limit(_AT_ONCE).with_for_update(skip_locked=True)).all()
        or connection.scalars(some.limit(1).with_for_update()).all()
    )
    if ids:
        connection.execute(update(jobs).where(jobs.c.id.in_(ids)).values(_CANCELLED))
    return len(ids)


def tally(connection: Connection, batch_id: str) -> dict[str, int]:
    """How many of its jobs are in each state; every state is there."""
    by_state = select(jobs.c.state, func.count()).where(jobs.c.batch_id == batch_id).group_by(jobs.c.state)
    found: dict[str, int] = dict(connection.execute(by_state).all())
    return {state.value: found.get(state, 0) for state in State}
