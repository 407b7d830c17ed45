"""Jobs whose type the worker that met them does not know: a newer release queued them, or an older one did."""

from datetime import timedelta

from sqlalchemy import Connection, select, update

from db.ledger.letters import Letter, open_letter
from db.ledger.tables import jobs
from db.models.jobs import State
from db.types import now

# How long such a job waits before the next worker may look.
STRANGER_WAIT = timedelta(seconds=30)


def set_aside(connection: Connection, job_id: str, *, window: timedelta) -> bool:
    """Park the job for a worker that knows its type; one older than `window` is buried. False if it is not ours."""
    row = connection.execute(
        select(jobs.c.type, jobs.c.queue, jobs.c.created_at <= now(-window))
        .where(jobs.c.id == job_id, jobs.c.state.in_((State.QUEUED, State.WAITING)))
        .with_for_update()
    ).one_or_none()
    if row is None:
        return False
    type_, queue, too_old = row
    if not too_old:
        _move(connection, job_id, {"state": State.WAITING, "due_at": now(STRANGER_WAIT)})
        return True
    message = "No worker knows this type of job."
    _move(
        connection,
        job_id,
        {
            "state": State.DEAD,
            "due_at": None,
            "finished_at": now(),
            "error_code": "unknown_task",
            "error_message": message,
        },
    )
    open_letter(
        connection,
        Letter(
            job_id,
            type_,
            queue,
            owner="operators",
            reason="unknown_task",
            code="unknown_task",
            message=message,
        ),
    )
    return True


def _move(connection: Connection, job_id: str, values: dict[str, object]) -> None:
    connection.execute(update(jobs).where(jobs.c.id == job_id).values({**values, "published_at": None}))
