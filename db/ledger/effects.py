"""Around an effect that must not happen twice: started before it, the receipt after it.

`started` found by a later start means that nobody knows whether the effect happened. It is then never
repeated without a person's word.
"""

from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, exists, literal, select, update
from sqlalchemy.dialects import postgresql, sqlite

from db.ledger.errors import EffectUnknown, LeaseLost
from db.ledger.start import Start
from db.ledger.tables import idempotency_keys, jobs
from db.types import now

_keys = idempotency_keys


def begin_effect(connection: Connection, start: Start, key: str) -> dict[str, Any] | None:
    """Commit this before the effect. Returns the receipt when the effect happened before, else None: act now.

    May be repeated by the same start when the commit's answer was lost. Raises EffectUnknown when another start
    began and never told; LeaseLost when this start no longer owns the job, so that a worker that was frozen just
    here does not act.
    """
    owned = exists().where(jobs.c.id == start.job_id, jobs.c.lease_token == start.token)
    earlier = connection.execute(
        select(_keys.c.state, _keys.c.receipt, _keys.c.job_id, _keys.c.lease_token)
        .where(_keys.c.key == key)
        .with_for_update()
    ).one_or_none()
    if earlier is None:
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        row = select(
            literal(key),
            literal(start.job_id, _keys.c.job_id.type),
            literal("started"),
            literal(start.token),
            now(),
        ).where(owned)
        begun = connection.execute(
            dialect.insert(_keys)
            .from_select(["key", "job_id", "state", "lease_token", "created_at"], row)
            .on_conflict_do_nothing()
            .returning(_keys.c.key)
        ).one_or_none()
    elif earlier.state == "done":
        return dict(earlier.receipt or {})
    elif earlier.state == "reserved" or (
        earlier.state == "started" and (earlier.job_id, earlier.lease_token) == (start.job_id, start.token)
    ):
        begun = connection.execute(
            update(_keys)
            .where(_keys.c.key == key, owned)
            .values(state="started", job_id=start.job_id, lease_token=start.token)
            .returning(_keys.c.key)
        ).one_or_none()
    else:
        raise EffectUnknown(key)
    if begun is None:
        raise LeaseLost(start.job_id)
    return None


def record_receipt(connection: Connection, key: str, receipt: dict[str, Any]) -> None:
    """The effect happened. Recorded whoever holds the lease by now: a fact beats a lease."""
    connection.execute(update(_keys).where(_keys.c.key == key).values(state="done", receipt=receipt))


def forget_effect(connection: Connection, start: Start, key: str) -> None:
    """What this start began did certainly not happen: a later start may try it."""
    connection.execute(delete(_keys).where(_keys.c.key == key, *_begun_by(start)))


def doubt_effect(connection: Connection, start: Start, key: str) -> None:
    """Nobody knows whether what this start began has happened."""
    connection.execute(update(_keys).where(_keys.c.key == key, *_begun_by(start)).values(state="unknown"))


def _begun_by(start: Start) -> tuple[ColumnElement[bool], ...]:
    # The job as well: the starts of one bulk message share a token.
    return (
        _keys.c.state == "started",
        _keys.c.job_id == start.job_id,
        _keys.c.lease_token == start.token,
    )
