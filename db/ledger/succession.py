"""A key that a dead job left free was taken again: the newer job does the work, so the older one stays dead.

Without this a replay of the older job would do a second time what was asked for once.
"""

from sqlalchemy import ColumnElement, Connection, or_, select, update

from db.ledger.letters import audit
from db.ledger.tables import dead_letters, jobs
from db.types import now

_TOOK_OVER = "It took over the idempotency key, so it does the work."


def hold_letters(connection: Connection, job_id: str | None) -> None:
    """Wait for whoever replays this job, or one of its batch, and let nobody begin to until the commit.

    Read the job's state after this, not before.
    """
    if job_id is not None:
        connection.execute(select(dead_letters.c.id).where(_open_letters(job_id)).with_for_update())


def supersede(connection: Connection, older: str, *, newer: str) -> None:
    """Close the open letters of the job `older`, and of its batch, in the name of `newer`.

    An unknown outcome stays open: whether that effect happened is still for a person to say.
    """
    by = f"job {newer}"
    closed = connection.execute(
        update(dead_letters)
        .where(_open_letters(older), dead_letters.c.reason != "outcome_unknown")
        .values(resolution="superseded", resolved_at=now(), resolved_by=by, note=_TOOK_OVER)
        .returning(dead_letters.c.id)
    ).all()
    if closed:
        details = {"letters": len(closed), "newer_job_id": newer}
        audit(connection, actor=by, action="job.superseded", target=older, details=details)


def _open_letters(job_id: str) -> ColumnElement[bool]:
    """A batch's key is bound to its first job and stands for all of them."""
    batch = select(jobs.c.batch_id).where(jobs.c.id == job_id).scalar_subquery()
    covered = select(jobs.c.id).where(or_(jobs.c.id == job_id, jobs.c.batch_id == batch))
    return dead_letters.c.job_id.in_(covered) & dead_letters.c.resolution.is_(None)
