"""Jobs enter the ledger here, in the caller's transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, insert

from db.ledger.tables import jobs
from db.models.jobs import State
from db.types import new_id, now

# The enqueuing process publishes right after its commit. If it dies in between, the relay follows after this.
PUBLISH_GRACE = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job that is not in the ledger yet. `run_at` parks it until then."""

    type: str
    queue: str
    payload: dict[str, Any]
    payload_version: int
    created_by: str
    priority: str = "normal"
    run_at: datetime | None = None
    batch_id: str | None = None
    position: int | None = None


def enqueue(connection: Connection, new: Sequence[NewJob], *, grace: timedelta = PUBLISH_GRACE) -> list[str]:
    """Insert the jobs and return their ids, in order. The relay leaves them alone for `grace`."""
    ids = [new_id() for _ in new]
    for parked in (False, True):
        rows = [
            _row(id_, job) for id_, job in zip(ids, new, strict=True) if (job.run_at is not None) is parked
        ]
        if rows:
            connection.execute(_PARKED if parked else _READY.values(due_at=now(grace)), rows)
    return ids


_READY = insert(jobs).values(state=State.QUEUED)
_PARKED = insert(jobs).values(state=State.WAITING)


def _row(id_: str, job: NewJob) -> dict[str, Any]:
    row = {
        "id": id_,
        "type": job.type,
        "queue": job.queue,
        "priority": job.priority,
        "payload": job.payload,
        "payload_version": job.payload_version,
        "batch_id": job.batch_id,
        "position": job.position,
        "created_by": job.created_by,
    }
    if job.run_at is not None:
        row["due_at"] = job.run_at
    return row
