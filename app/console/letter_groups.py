"""Dead letters by kind: an outage is one line and a count."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select

from app.reading.visible import NotFound, is_id
from db.engine import reading
from db.models import DeadLetter

# More kinds than this at once are nobody's list to read; the newest are shown.
MOST_KINDS = 100
_PER_PAGE = 50


@dataclass(frozen=True)
class LetterGroup:
    """Letters of one kind. `latest` is the newest of them and speaks for all."""

    count: int
    first_seen: datetime
    last_seen: datetime
    latest: DeadLetter


@dataclass(frozen=True)
class LetterPage:
    """Up to 50 letters, newest first, and the id to go on from."""

    letters: list[DeadLetter]
    older: str | None


def list_groups(*, resolved: bool) -> list[LetterGroup]:
    """The kinds that have open (or resolved) letters, the latest seen first; at most 100."""
    return _groups(_standing(resolved))


def find_group(fingerprint: str, *, resolved: bool) -> LetterGroup | None:
    """One kind, None when it has no such letter. Raises NotFound for one that PostgreSQL cannot compare."""
    if "\0" in fingerprint:
        raise NotFound
    found = _groups(_standing(resolved), DeadLetter.fingerprint == fingerprint)
    return found[0] if found else None


def letters_of(fingerprint: str, *, resolved: bool, before: str | None) -> LetterPage:
    """`before` is the last id of the page before."""
    query = (
        select(DeadLetter)
        .where(DeadLetter.fingerprint == fingerprint, _standing(resolved))
        .order_by(DeadLetter.id.desc())
        .limit(_PER_PAGE + 1)
    )
    if before is not None and is_id(before):
        query = query.where(DeadLetter.id < before)
    with reading() as session:
        found = list(session.scalars(query))
    shown = found[:_PER_PAGE]
    return LetterPage(shown, shown[-1].id if len(found) > _PER_PAGE else None)


def _standing(resolved: bool) -> ColumnElement[bool]:
    return DeadLetter.resolution.is_not(None) if resolved else DeadLetter.resolution.is_(None)


def _groups(*where: Any) -> list[LetterGroup]:
    last_seen = func.max(DeadLetter.created_at)
    kinds = (
        select(DeadLetter.fingerprint, func.count(), func.min(DeadLetter.created_at), last_seen)
        .where(*where)
        .group_by(DeadLetter.fingerprint)
        .order_by(last_seen.desc())
        .limit(MOST_KINDS)
    )
    with reading() as session:
        return [
            LetterGroup(count, first, last, _latest(session, fingerprint, *where))
            for fingerprint, count, first, last in session.execute(kinds)
        ]


def _latest(session: Any, fingerprint: str, *where: Any) -> DeadLetter:
    query = select(DeadLetter).where(DeadLetter.fingerprint == fingerprint, *where)
    letter: DeadLetter = session.scalars(query.order_by(DeadLetter.id.desc()).limit(1)).one()
    return letter
