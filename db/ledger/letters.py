"""Dead letters: opened by the ledger, resolved by people, each act in the audit log."""

import hashlib
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from db.ledger.errors import AlreadyResolved, LetterNotFound, WrongResolution
from db.ledger.tables import audit_log, dead_letters, idempotency_keys, jobs
from db.models.jobs import State
from db.types import new_id, now


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter to be opened. `job_id` is None for a message that names no job of ours."""

    job_id: str | None
    type: str
    queue: str
    owner: str
    reason: str
    code: str
    message: str
    traceback: str | None = None
    shown: str | None = None

    @property
    def fingerprint(self) -> str:
        """Equal for failures of one kind: the type, the code, and where in the code it broke."""
        if self.job_id is None:
            # The name in a foreign message is anybody's invention, and each would be an alert of its own.
            return _short(f"{self.queue}|{self.reason}|{self.code}")
        # Line numbers move with every release; the last function named is what stays.
        where = re.findall(r'File "([^"]+)", line \d+, in (\S+)', self.traceback or "")[-1:]
        return _short(f"{self.type}|{self.reason}|{self.code}|{where}")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A payload that a person corrected. Whoever hands it in has checked it against its type's schema."""

    payload: dict[str, Any]
    version: int


def open_letter(connection: Connection, letter: Letter) -> str:
    """Insert the letter and return its id."""
    id_ = new_id()
    connection.execute(
        insert(dead_letters).values(
            id=id_,
            job_id=letter.job_id,
            type=_storable(letter.type),
            queue=_storable(letter.queue),
            owner=letter.owner,
            reason=letter.reason,
            error_code=letter.code,
            error_message=letter.message,
            fingerprint=letter.fingerprint,
            traceback=letter.traceback,
            shown=letter.shown and _storable(letter.shown),
        )
    )
    return id_


def replay(
    connection: Connection,
    letter_id: str,
    *,
    actor: str,
    note: str = "",
    wait: timedelta = timedelta(),
    rewritten: Rewritten | None = None,
) -> str:
    """Queue the letter's job again with a clean count, or park it for `wait`, and return the job's id.

    `rewritten` takes the place of the job's payload; the audit log keeps the old one. Raises LetterNotFound,
    AlreadyResolved, and WrongResolution for a letter without a job or with an unknown outcome (that one is
    resolved, never replayed blindly).
    """
    letter = _open(connection, letter_id)
    if letter.job_id is None:
        raise WrongResolution("this letter is a message without a job; it can only be discarded")
    if letter.reason == "outcome_unknown":
        raise WrongResolution("its effect may have happened; resolve it as happened or as do-again")
    details = {} if rewritten is None else _rewrite(connection, letter.job_id, rewritten)
    _requeue(connection, letter.job_id, wait)
    _resolve(connection, letter, "replayed", actor, note, details)
    return str(letter.job_id)


def discard(connection: Connection, letter_id: str, *, actor: str, note: str) -> None:
    """Close the letter; its job stays dead. Raises LetterNotFound, AlreadyResolved."""
    _resolve(connection, _open(connection, letter_id), "discarded", actor, note)


def resolve(connection: Connection, letter_id: str, *, happened: bool, actor: str, note: str = "") -> str:
    """Settle an unknown outcome: it happened (job succeeded), or do it again (job queued). Returns the job's id.

    Raises LetterNotFound, AlreadyResolved, and WrongResolution for any other kind of letter.
    """
    letter = _open(connection, letter_id)
    if letter.reason != "outcome_unknown" or letter.job_id is None:
        raise WrongResolution("only an unknown outcome can be resolved; replay or discard this letter")
    effects = (
        idempotency_keys.c.job_id == letter.job_id,
        idempotency_keys.c.state.in_(("started", "unknown")),
    )
    if happened:
        connection.execute(
            update(idempotency_keys).where(*effects).values(state="done", receipt={"resolved_by": actor})
        )
        connection.execute(
            update(jobs)
            .where(jobs.c.id == letter.job_id, jobs.c.state == State.DEAD)
            .values(state=State.SUCCEEDED, result={"resolved_by": actor}, error_code=None, error_message=None)
        )
    else:
        connection.execute(update(idempotency_keys).where(*effects).values(state="reserved"))
        _requeue(connection, letter.job_id)
    _resolve(connection, letter, "happened" if happened else "replayed", actor, note)
    return str(letter.job_id)


def audit(connection: Connection, *, actor: str, action: str, target: str, details: dict[str, Any]) -> None:
    """Append what a person did; the table refuses to be rewritten."""
    connection.execute(insert(audit_log).values(actor=actor, action=action, target=target, details=details))


def _storable(text: str) -> str:
    """A foreign message may hold any byte; PostgreSQL's texts hold no NUL."""
    return text.replace("\0", "\\x00")


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _open(connection: Connection, letter_id: str) -> Row[Any]:
    letter = connection.execute(
        select(dead_letters).where(dead_letters.c.id == letter_id).with_for_update()
    ).one_or_none()
    if letter is None:
        raise LetterNotFound(letter_id)
    if letter.resolution is not None:
        note = f" ({letter.note})" if letter.note else ""
        raise AlreadyResolved(f"{letter_id} was {letter.resolution} by {letter.resolved_by}{note}")
    return letter


def _rewrite(connection: Connection, job_id: str, new: Rewritten) -> dict[str, Any]:
    """Change the payload of a dead job; returns the old one for the audit log."""
    dead = (jobs.c.id == job_id, jobs.c.state == State.DEAD)
    old = connection.execute(select(jobs.c.payload, jobs.c.payload_version).where(*dead)).one_or_none()
    if old is None:
        raise WrongResolution("its job is not dead, so its payload stays")
    connection.execute(update(jobs).where(*dead).values(payload=new.payload, payload_version=new.version))
    return {"payload_before": old.payload, "payload_version_before": old.payload_version}


def _requeue(connection: Connection, job_id: str, wait: timedelta = timedelta()) -> None:
    connection.execute(
        update(jobs)
        .where(jobs.c.id == job_id, jobs.c.state == State.DEAD)
        .values(
            state=State.WAITING if wait else State.QUEUED,
            due_at=now(wait),
            published_at=None,
            failures=0,
            losses=0,
            finished_at=None,
            cancel_requested_at=None,
        )
    )


def _resolve(
    connection: Connection,
    letter: Row[Any],
    resolution: str,
    actor: str,
    note: str,
    details: dict[str, Any] | None = None,
) -> None:
    connection.execute(
        update(dead_letters)
        .where(dead_letters.c.id == letter.id)
        .values(resolution=resolution, resolved_at=now(), resolved_by=actor, note=note or None)
    )
    audit(
        connection,
        actor=actor,
        action=f"dead_letter.{resolution}",
        target=str(letter.id),
        details={
            "job_id": letter.job_id,
            "type": letter.type,
            "reason": letter.reason,
            "note": note,
            **(details or {}),
        },
    )
