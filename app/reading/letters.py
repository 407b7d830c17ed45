"""Dead letters as operators see them."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.reading.jobs import API, iso
from app.reading.visible import is_id
from db.engine import reading
from db.ledger import LetterNotFound
from db.models import Attempt, DeadLetter, Job


def find_letter(letter_id: str) -> DeadLetter:
    """The letter. Raises LetterNotFound."""
    with reading() as session:
        return _letter(session, letter_id)


def list_letters(
    *, resolved: bool | None = False, type_: str | None = None, limit: int = 50, before: str | None = None
) -> list[DeadLetter]:
    """Newest first: open ones, or with `resolved` True the closed ones, with None all of them.

    `before` is the last id of the page before. Raises LetterNotFound for a bad one.
    """
    query = select(DeadLetter).order_by(DeadLetter.id.desc()).limit(limit)
    if resolved is not None:
        done = DeadLetter.resolution.is_not(None)
        query = query.where(done if resolved else ~done)
    if type_ is not None:
        query = query.where(DeadLetter.type == type_)
    with reading() as session:
        if before is not None:
            query = query.where(DeadLetter.id < _letter(session, before).id)
        return list(session.scalars(query))


def letter_json(letter: DeadLetter) -> dict[str, Any]:
    """The letter as the API lists it."""
    own = f"{API}/dead-letters/{letter.id}"
    links = {"self": own}
    if letter.job_id:
        links["job"] = f"{API}/jobs/{letter.job_id}"
    return {
        "id": letter.id,
        "job_id": letter.job_id,
        "type": letter.type,
        "queue": letter.queue,
        "owner": letter.owner,
        "reason": letter.reason,
        "error": {"code": letter.error_code, "message": letter.error_message},
        "fingerprint": letter.fingerprint,
        "created_at": iso(letter.created_at),
        "resolution": letter.resolution,
        "resolved_at": iso(letter.resolved_at),
        "resolved_by": letter.resolved_by,
        "note": letter.note,
        "links": links | {move: f"{own}/{move}" for move in _moves(letter)},
    }


def letter_details(letter_id: str) -> dict[str, Any]:
    """The letter with its traceback, its job's payload (ids and options) and every failed attempt.

    Raises LetterNotFound.
    """
    with reading() as session:
        letter = _letter(session, letter_id)
        job = session.get(Job, letter.job_id) if letter.job_id else None
    return {
        **letter_json(letter),
        "traceback": letter.traceback,
        "payload": job.payload if job else None,
        "attempts": [
            {
                "number": attempt.number,
                "outcome": attempt.outcome,
                "error": {"code": attempt.error_code, "message": attempt.error_message},
                "worker": attempt.worker,
                "started_at": iso(attempt.started_at),
                "ended_at": iso(attempt.ended_at),
            }
            for attempt in letter_attempts(letter)
        ],
    }


def letter_attempts(letter: DeadLetter) -> list[Attempt]:
    """Every unsuccessful start of the letter's job, oldest first; none for a message without a job."""
    if letter.job_id is None:
        return []
    with reading() as session:
        tries = select(Attempt).where(Attempt.job_id == letter.job_id).order_by(Attempt.id)
        return list(session.scalars(tries))


def _letter(session: Session, letter_id: str) -> DeadLetter:
    letter = session.get(DeadLetter, letter_id) if is_id(letter_id) else None
    if letter is None:
        raise LetterNotFound(letter_id)
    return letter


def _moves(letter: DeadLetter) -> tuple[str, ...]:
    """What can be done with it; an unknown outcome is settled, never replayed blindly."""
    if letter.resolution is not None:
        return ()
    if letter.job_id is None:
        return ("discard",)
    return ("resolve" if letter.reason == "outcome_unknown" else "replay", "discard")
