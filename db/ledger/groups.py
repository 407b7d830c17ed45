"""Open dead letters of one kind, replayed little by little."""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, func, select

from db.ledger.errors import LetterNotFound
from db.ledger.letters import discard, replay
from db.ledger.tables import dead_letters
from db.types import now

_MINUTE = timedelta(minutes=1)
# As many as one transaction closes, so that none holds SQLite's write lock for long.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Group:
    """The open letters of one kind. Ids are made of time, so `last_id` bounds them against later ones."""

    first_id: str
    last_id: str
    letters: int


def open_group(connection: Connection, fingerprint: str) -> Group:
    """The open letters of this kind as they are now. Raises LetterNotFound when there is none."""
    ids = select(dead_letters.c.id).where(
        dead_letters.c.fingerprint == fingerprint, dead_letters.c.resolution.is_(None)
    )
    # PostgreSQL knows no smallest uuid.
    first = connection.execute(ids.order_by(dead_letters.c.id).limit(1)).scalar_one_or_none()
    if first is None:
        raise LetterNotFound(fingerprint)
    last = connection.execute(ids.order_by(dead_letters.c.id.desc()).limit(1)).scalar_one()
    count = connection.execute(select(func.count()).select_from(ids.subquery())).scalar_one()
    return Group(first, last, count)


def replay_some(
    connection: Connection, fingerprint: str, *, up_to: str, per_minute: int, actor: str, note: str = ""
) -> int:
    """Replay open letters of this kind, oldest first, spread over the coming minute; returns how many are left.

    What `actor` replayed of them within the last minute is taken off, so asking again too early does no harm.
    """
    kind = (dead_letters.c.fingerprint == fingerprint, dead_letters.c.id <= up_to)
    replayed = (
        *kind,
        dead_letters.c.resolution == "replayed",
        dead_letters.c.resolved_by == actor,
        dead_letters.c.resolved_at > now(-_MINUTE),
    )
    of_late = connection.execute(select(func.count()).select_from(dead_letters).where(*replayed)).scalar_one()
    still_open = (*kind, dead_letters.c.resolution.is_(None))
    taken = connection.scalars(
        select(dead_letters.c.id)
        .where(*still_open)
        .order_by(dead_letters.c.id)
        .limit(max(0, per_minute - of_late))
        # Whatever another operator deals with at this moment is not ours.
        .with_for_update(skip_locked=True)
    ).all()
    for position, letter_id in enumerate(taken):
        replay(connection, letter_id, actor=actor, note=note, wait=position * _MINUTE / per_minute)
    return connection.execute(select(func.count()).select_from(dead_letters).where(*still_open)).scalar_one()


def discard_some(connection: Connection, fingerprint: str, *, up_to: str, actor: str, note: str) -> int:
    """Discard up to 500 open letters of this kind, oldest first; returns how many, 0 when none is left."""
    taken = connection.scalars(
        select(dead_letters.c.id)
        .where(
            dead_letters.c.fingerprint == fingerprint,
            dead_letters.c.id <= up_to,
            dead_letters.c.resolution.is_(None),
        )
        .order_by(dead_letters.c.id)
        .limit(_AT_ONCE)
        .with_for_update(skip_locked=True)
    ).all()
    for letter_id in taken:
        discard(connection, letter_id, actor=actor, note=note)
    return len(taken)
