"""Many jobs claimed by one message, and what becomes of those whose turn does not come."""

import secrets
from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    exists,
    literal_column,
    not_,
    select,
    true,
    update,
)

from db.ledger.outcome import back_to
from db.ledger.start import CLAIMING, Start
from db.ledger.tables import idempotency_keys, jobs
from db.models.jobs import State
from db.types import now

# Whoever may have taken a worker down has a message of its own, whatever an older one says.
_CLAIM_MANY = CLAIMING.where(
    jobs.c.id.in_(bindparam("job_ids", expanding=True)),
    not_(jobs.c.suspect),
    jobs.c.losses == literal_column("0"),
).values(suspect=true())

# As if it had never been claimed.
_UNBEGUN = {"attempts": jobs.c.attempts - 1, "started_at": None}
_ERROR = (jobs.c.error_code, jobs.c.error_message)


def claim_many(
    connection: Connection, job_ids: Sequence[str], *, worker: str, lease: timedelta
) -> list[Start]:
    """Claim what can be claimed of these jobs, in one statement and under one token; in their order.

    Left out are those that may have taken a worker down: they are to be claimed alone.
    """
    rows = connection.execute(
        _CLAIM_MANY,
        {
            "job_ids": job_ids,
            "token": secrets.token_hex(16),
            "worker_id": worker,
            "lease_s": lease.total_seconds(),
        },
    )
    starts = {row[0]: Start(*row) for row in rows}
    return [starts[job_id] for job_id in job_ids if job_id in starts]


def checkpoint_many(connection: Connection, starts: Sequence[Start]) -> dict[str, bool]:
    """The jobs that starts of one token still own, each with False once a cancel was asked for."""
    rows = connection.execute(select(jobs.c.id, jobs.c.cancel_requested_at.is_(None)).where(*_owned(starts)))
    return {job_id: bool(may_go_on) for job_id, may_go_on in rows}


def give_back(connection: Connection, starts: Sequence[Start], *, wait: timedelta | None = None) -> None:
    """running → queued at their old place, or → waiting for `wait`: starts that did not begin, and do not count.

    In one statement, and without a row for each: nothing happened that anybody would ask about.
    """
    state, due_at = (State.QUEUED, jobs.c.created_at) if wait is None else (State.WAITING, now(wait))
    connection.execute(
        update(jobs).where(*_owned(starts)).values({**back_to(state, due_at, *_ERROR), **_UNBEGUN})
    )


def absolve(connection: Connection, starts: Sequence[Start], *, suspect: bool) -> set[str]:
    """Give back those of the starts that shared a message and began no effect: nobody can tell that they began.

    Their process is gone, maybe for the fault of one: as `suspect` each travels alone, so that the next crash
    names it. Returns their jobs' ids; the others are the caller's to end.
    """
    acted = exists().where(
        idempotency_keys.c.job_id == jobs.c.id, idempotency_keys.c.lease_token == jobs.c.lease_token
    )
    absolved = connection.scalars(
        update(jobs)
        .where(*_owned(starts), jobs.c.suspect, ~acted)
        .values({**back_to(State.QUEUED, jobs.c.created_at, *_ERROR), **_UNBEGUN, "suspect": suspect})
        .returning(jobs.c.id)
    )
    return set(absolved)


def _owned(starts: Sequence[Start]) -> tuple[ColumnElement[bool], ...]:
    return (
        jobs.c.id.in_([start.job_id for start in starts]),
        jobs.c.lease_token.in_({start.token for start in starts}),
    )
