"""Cancelling: at once for a job that waits, at its next checkpoint for one that runs."""

from typing import Any

from sqlalchemy import Connection, select, update

from db.ledger.errors import JobNotFound
from db.ledger.tables import jobs
from db.models.jobs import FINAL, State
from db.types import now

# What a cancelled job's row says.
CANCELLED = {"error_code": "cancelled", "error_message": "The job was cancelled."}


def cancel(connection: Connection, job_id: str) -> str:
    """Cancel the job and return its state afterwards (`running` until its next checkpoint). Raises JobNotFound.

    A finished job stays as it is. A message that is still in the broker will find nothing to do.
    """
    state = connection.execute(
        select(jobs.c.state).where(jobs.c.id == job_id).with_for_update()
    ).scalar_one_or_none()
    if state is None:
        raise JobNotFound(job_id)
    if state in FINAL:
        return str(state)
    values: dict[str, Any] = {"cancel_requested_at": now()}
    if state != State.RUNNING:
        values |= {
            "state": State.CANCELLED,
            "due_at": None,
            "published_at": None,
            "finished_at": now(),
            **CANCELLED,
        }
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(values))
    return str(values.get("state", state))
