"""Unique jobs: one unfinished job per business key, by the idempotency table, whose primary key decides every race."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, and_, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from db.ledger.enqueue import PUBLISH_GRACE, NewJob
from db.ledger.overdue import Due
from db.ledger.succession import hold_letters
from db.ledger.tables import idempotency_keys, jobs
from db.models.jobs import FINAL, State
from db.types import now

_keys = idempotency_keys


@dataclass(frozen=True, slots=True)
class Standing:
    """The job that stands for a key. `due` is set when its message has to be sent (again)."""

    job_id: str
    batch_id: str | None
    due: Due | None = None


def take_unique(connection: Connection, key: str, *, kept: timedelta = timedelta()) -> Standing | None:
    """The key's job while it is unfinished, or for `kept` after it succeeded; None means that `bind` must follow.

    A dead or cancelled job frees the key. Of two callers at once the second waits here for the first one's commit.
    """
    held = _take(connection, key)
    if held is None:
        return None
    stands = or_(
        jobs.c.state.not_in(FINAL),
        and_(jobs.c.state == State.SUCCEEDED, jobs.c.finished_at > now(-kept)),
    )
    row = connection.execute(
        select(jobs.c.id, jobs.c.batch_id).where(jobs.c.id == held, stands)
    ).one_or_none()
    return None if row is None else Standing(*row)


def replace_unique(connection: Connection, key: str, new: NewJob) -> Standing | None:
    """Give the key's job, if it has not started, what `new` says; None means that `bind` must follow.

    Its payload and its time are `new`'s afterwards, and its failures are forgotten. One that runs, or is final, is
    left alone, and another has to be enqueued.
    """
    held = _take(connection, key)
    if held is None:
        return None
    # A worker that claims it at this moment waits for us, or we for it.
    row = connection.execute(
        select(jobs)
        .where(jobs.c.id == held, jobs.c.state.in_((State.QUEUED, State.WAITING)))
        .with_for_update()
    ).one_or_none()
    if row is None:
        return None
    values: dict[str, Any] = {
        "payload": new.payload,
        "payload_version": new.payload_version,
        "failures": 0,
        "losses": 0,
        "error_code": None,
        "error_message": None,
    }
    due = None
    if new.run_at is not None:
        values |= {"state": State.WAITING, "due_at": new.run_at, "published_at": None}
    elif row.state == State.WAITING:
        values |= {"state": State.QUEUED, "due_at": now(PUBLISH_GRACE), "published_at": None}
        due = Due(row.id, row.type, row.queue, row.priority)
    # Else a message that is on its way serves for the new payload as well.
    connection.execute(update(jobs).where(jobs.c.id == row.id).values(values))
    return Standing(row.id, row.batch_id, due)


def _take(connection: Connection, key: str) -> str | None:
    """Lock the key, making it if it is new; the id of the job that it was bound to."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    made = (
        dialect.insert(_keys)
        .values(key=key, state="reserved")
        .on_conflict_do_nothing()
        .returning(_keys.c.key)
    )
    while connection.execute(made).one_or_none() is None:
        held = connection.execute(
            select(_keys.c.job_id).where(_keys.c.key == key).with_for_update()
        ).one_or_none()
        # Housekeeping may have removed it in between.
        if held is not None:
            hold_letters(connection, held.job_id)
            return held.job_id  # type: ignore[no-any-return]  # a column of Core is untyped
    return None
