"""Idempotency at the door: a repeated request is answered with the same job."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, exists, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from db.ledger.errors import KeyReused
from db.ledger.succession import hold_letters, supersede
from db.ledger.tables import idempotency_keys, jobs
from db.models.jobs import State
from db.types import now

# How long a client may repeat a request. Long enough for a client that retries over a night.
KEY_LIFETIME = timedelta(hours=24)

_keys = idempotency_keys


@dataclass(frozen=True, slots=True)
class Earlier:
    """What the first request with this key created."""

    job_id: str
    batch_id: str | None


def reserve(
    connection: Connection, key: str, *, fingerprint: str, lifetime: timedelta = KEY_LIFETIME
) -> Earlier | None:
    """Take the key for this transaction; None means it is ours and `bind` must follow.

    Of two requests at once the second waits here for the first one's commit. Raises KeyReused when the
    key stands for other content. A key whose jobs all died or were cancelled, or that expired, is free again,
    unless an effect of theirs happened or may have: repeating the request must not repeat that. Those jobs
    cannot be replayed any more once it is taken.
    """
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    inserted = connection.execute(
        dialect.insert(_keys)
        .values(key=key, state="reserved", fingerprint=fingerprint, expires_at=now(lifetime))
        .on_conflict_do_nothing()
        .returning(_keys.c.key)
    ).one_or_none()
    if inserted is not None:
        return None
    row = connection.execute(
        select(_keys.c.fingerprint, _keys.c.job_id, _keys.c.expires_at <= now(), jobs.c.batch_id)
        .outerjoin_from(_keys, jobs, jobs.c.id == _keys.c.job_id)
        .where(_keys.c.key == key)
        .with_for_update(of=_keys)
    ).one()
    known, job_id, expired, batch_id = row
    hold_letters(connection, job_id)
    if expired or _free_again(connection, job_id, batch_id):
        _retake(connection, key, fingerprint, lifetime)
        return None
    if known != fingerprint:
        raise KeyReused(key)
    return Earlier(job_id, batch_id)


def take_once(connection: Connection, key: str, *, lifetime: timedelta) -> bool:
    """Take a key that nobody may take again within `lifetime`; False if somebody has."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    taken = connection.execute(
        dialect.insert(_keys)
        .values(key=key, state="done", expires_at=now(lifetime))
        .on_conflict_do_nothing()
        .returning(_keys.c.key)
    ).one_or_none()
    return taken is not None


def bind(connection: Connection, key: str, job_id: str) -> None:
    """Tie the key to the (first) job it created. What a job that it was tied to before left open is closed."""
    older = connection.execute(select(_keys.c.job_id).where(_keys.c.key == key)).scalar_one()
    connection.execute(update(_keys).where(_keys.c.key == key).values(job_id=job_id))
    if older is not None:
        supersede(connection, older, newer=job_id)


def _free_again(connection: Connection, job_id: str | None, batch_id: str | None) -> bool:
    mine = jobs.c.id == job_id if batch_id is None else jobs.c.batch_id == batch_id
    acted = exists().where(_keys.c.job_id == jobs.c.id, _keys.c.state != "reserved")
    standing = or_(jobs.c.state.not_in((State.DEAD, State.CANCELLED)), acted)
    return connection.execute(select(jobs.c.id).where(mine, standing).limit(1)).one_or_none() is None


def _retake(connection: Connection, key: str, fingerprint: str, lifetime: timedelta) -> None:
    # Its job stays in the row until `bind` puts the newer one there.
    connection.execute(
        update(_keys)
        .where(_keys.c.key == key)
        .values(
            state="reserved",
            receipt=None,
            fingerprint=fingerprint,
            created_at=now(),
            expires_at=now(lifetime),
        )
    )
