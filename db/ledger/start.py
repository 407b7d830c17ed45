"""A worker takes a job, and keeps it: claim, renew, checkpoint."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Connection,
    and_,
    bindparam,
    false,
    literal_column,
    null,
    or_,
    select,
    update,
)

from db.ledger.errors import LeaseLost
from db.ledger.tables import jobs, literally
from db.models.jobs import FINAL, State
from db.types import now


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a job: what it needs to run, and the token that lets this start alone end it."""

    job_id: str
    token: str
    worker: str
    type: str
    queue: str
    payload: dict[str, Any]
    payload_version: int
    attempt: int
    failures: int
    losses: int
    batch_id: str | None
    created_by: str
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Unclaimed:
    """Why a message found nothing to do. `state` is None for a job the ledger does not know."""

    state: str | None
    result: dict[str, Any] | None = None
    lease_expired: bool = False

    @property
    def finished(self) -> bool:
        """Whether the job has reached a final state."""
        return self.state in FINAL


# The columns of a Start, in its order.
_START = (
    jobs.c.id,
    jobs.c.lease_token,
    jobs.c.worker,
    jobs.c.type,
    jobs.c.queue,
    jobs.c.payload,
    jobs.c.payload_version,
    jobs.c.attempts,
    jobs.c.failures,
    jobs.c.losses,
    jobs.c.batch_id,
    jobs.c.created_by,
    jobs.c.started_at,
)

# What every claim does.
CLAIMING = (
    update(jobs)
    .where(
        or_(
            jobs.c.state == literally(State.QUEUED),
            and_(jobs.c.state == literally(State.WAITING), jobs.c.due_at <= now()),
        )
    )
    .values(
        state=literally(State.RUNNING),
        lease_token=bindparam("token"),
        worker=bindparam("worker_id"),
        due_at=now(bindparam("lease_s")),
        # Counted before the work begins, so that a job that kills its worker has been counted.
        attempts=jobs.c.attempts + literal_column("1"),
        started_at=now(),
        progress=null(),
    )
    .returning(*_START)
)


_CLAIM = CLAIMING.where(jobs.c.id == bindparam("job_id")).values(suspect=false())


def claim(connection: Connection, job_id: str, *, worker: str, lease: timedelta) -> Start | None:
    """Move a queued or due job to running under a fresh token; None when there is nothing to claim."""
    token = secrets.token_hex(16)
    row = connection.execute(
        _CLAIM,
        {"job_id": job_id, "token": token, "worker_id": worker, "lease_s": lease.total_seconds()},
    ).one_or_none()
    return None if row is None else _start(row)


def hold_back(connection: Connection, job_id: str, *, delay: timedelta) -> bool:
    """queued → waiting before any start: the job's turn under its limit has not come. False if it was not queued."""
    held = connection.execute(
        update(jobs)
        .where(jobs.c.id == job_id, jobs.c.state == State.QUEUED)
        .values(state=State.WAITING, due_at=now(delay), published_at=None)
    )
    return held.rowcount == 1


def stored_payload(connection: Connection, job_id: str) -> tuple[int, dict[str, Any]] | None:
    """The version and the data of a job's payload, before any start; None for a job that the ledger does not know."""
    row = connection.execute(
        select(jobs.c.payload_version, jobs.c.payload).where(jobs.c.id == job_id)
    ).one_or_none()
    return None if row is None else (row.payload_version, row.payload)


def why_unclaimed(connection: Connection, job_id: str) -> Unclaimed:
    """Explain a claim that got nothing."""
    row = connection.execute(
        select(jobs.c.state, jobs.c.result, jobs.c.due_at <= now()).where(jobs.c.id == job_id)
    ).one_or_none()
    if row is None:
        return Unclaimed(state=None)
    state, result, overdue = row
    return Unclaimed(state, result, lease_expired=state == State.RUNNING and bool(overdue))


def renew(connection: Connection, job_ids: Sequence[str], *, worker: str, lease: timedelta) -> int:
    """Extend the leases of what this worker still runs; return how many. One statement for all."""
    renewed = connection.execute(
        update(jobs)
        .where(jobs.c.id.in_(job_ids), jobs.c.state == State.RUNNING, jobs.c.worker == worker)
        .values(due_at=now(lease))
    )
    return renewed.rowcount


def running_on(connection: Connection, job_ids: Sequence[str], *, worker: str) -> list[Start]:
    """The starts that `worker` has of these jobs: for a parent that saw its child die."""
    rows = connection.execute(
        select(*_START).where(jobs.c.id.in_(job_ids), jobs.c.state == State.RUNNING, jobs.c.worker == worker)
    )
    return [_start(row) for row in rows]


def expired(connection: Connection, *, job_id: str | None = None, limit: int = 100) -> list[Start]:
    """Starts whose lease ran out (of one job, if given). Whoever ends one first by its token wins."""
    query = select(*_START).where(jobs.c.state == State.RUNNING, jobs.c.due_at <= now())
    if job_id is not None:
        query = query.where(jobs.c.id == job_id)
    rows = connection.execute(query.limit(limit))
    return [_start(row) for row in rows]


_CHECKPOINT = (
    update(jobs)
    .where(jobs.c.id == bindparam("job_id"), jobs.c.lease_token == bindparam("token"))
    .values(progress=bindparam("percent"))
    .returning(jobs.c.cancel_requested_at)
)


def checkpoint(connection: Connection, start: Start, percent: int | None) -> bool:
    """Store the progress (0-100) and say whether the job may go on: False once a cancel was asked for.

    Raises LeaseLost when another start has taken over.
    """
    row = connection.execute(
        _CHECKPOINT, {"job_id": start.job_id, "token": start.token, "percent": percent}
    ).one_or_none()
    if row is None:
        raise LeaseLost(start.job_id)
    return row[0] is None


def _start(row: Any) -> Start:
    return Start(*row)
