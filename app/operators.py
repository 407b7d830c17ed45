"""What operators do to queues, batches, jobs and dead letters, from the API, the console and the command line alike.

Each act is one transaction that also writes the audit log. Jobs that become due again are published by the
relay within half a second.
"""

import json
from typing import Any

from pydantic import ValidationError
from sqlalchemy import select

from app.intake.refusals import Refused, path, refuse_fields
from app.reading.visible import NotFound, is_id
from config.queues import Queue
from db import ledger
from db.engine import reading, transaction
from db.models import Batch, DeadLetter, Job
from tasks.dead_letters import Ramp, start_ramp
from tasks.engine.job import JOBS
from tasks.engine.pauses import forget_pauses
from tasks.engine.payload import PayloadInvalid
from tasks.engine.wake import ring


def cancel_job(job_id: str, *, actor: str) -> str:
    """Cancel, and return the state afterwards. Raises ledger.JobNotFound.

    The audit log keeps it when the actor is not who submitted the job.
    """
    if not is_id(job_id):
        raise ledger.JobNotFound(job_id)
    with transaction() as connection:
        before = connection.execute(select(Job.state, Job.created_by).where(Job.id == job_id)).one_or_none()
        after = ledger.cancel(connection, job_id)
        if before is not None and before.created_by != actor:
            details = {"before": before.state, "after": after}
            ledger.audit(connection, actor=actor, action="job.cancelled", target=job_id, details=details)
    return after


def cancel_batch(batch_id: str, *, actor: str) -> int:
    """Cancel what is unfinished of it; returns how many jobs that is. Raises NotFound.

    What runs stops at its next checkpoint. The audit log keeps it when the actor is not who submitted the batch.
    """
    with reading() as session:
        batch = session.get(Batch, batch_id) if is_id(batch_id) else None
    if batch is None:
        raise NotFound(batch_id)
    if batch.created_by != actor:
        with transaction() as connection:
            details = {"kind": batch.kind, "total": batch.total}
            ledger.audit(connection, actor=actor, action="batch.cancelled", target=batch_id, details=details)
    count = 0
    while True:
        with transaction() as connection:
            asked = ledger.cancel_some(connection, batch_id)
        if not asked:
            return count
        count += asked


def pause_queue(name: str, *, actor: str) -> bool:
    """Let no job of the queue start until it is resumed; False if it was paused before. Raises NotFound."""
    queue = _queue(name)
    with transaction() as connection:
        changed = ledger.pause(connection, queue, actor=actor)
    forget_pauses()
    return changed


def resume_queue(name: str, *, actor: str) -> bool:
    """Let the queue's jobs go on at once; False if it was not paused. Raises NotFound."""
    queue = _queue(name)
    with transaction() as connection:
        changed = ledger.resume(connection, queue, actor=actor)
    forget_pauses()
    ring()
    return changed


def replay_letter(
    letter_id: str, *, actor: str, reason: str = "", payload: dict[str, Any] | None = None
) -> str:
    """Queue its job again, with another `payload` if one is given; returns the job's id.

    Raises as `ledger.replay` does, and Refused for a payload that does not fit the type's schema.
    """
    rewritten = None if payload is None else _checked(_letter(letter_id), payload)
    with transaction() as connection:
        return ledger.replay(connection, _letter(letter_id), actor=actor, note=reason, rewritten=rewritten)


def replay_group(fingerprint: str, *, per_minute: int, actor: str, reason: str = "") -> Ramp:
    """Replay every open letter of one kind: the oldest alone, the others once it has succeeded, so many a minute.

    Raises as `start_ramp` does.
    """
    return start_ramp(fingerprint, per_minute=per_minute, actor=actor, reason=reason)


def discard_letter(letter_id: str, *, actor: str, reason: str) -> None:
    """Close it and leave its job dead. Raises as `ledger.discard` does."""
    with transaction() as connection:
        ledger.discard(connection, _letter(letter_id), actor=actor, note=reason)


def discard_group(fingerprint: str, *, up_to: str, actor: str, reason: str) -> int:
    """Close the open letters of one kind, `up_to` being the last; returns how many.

    Raises LetterNotFound when none is open.
    """
    count = 0
    while True:
        with transaction() as connection:
            closed = ledger.discard_some(
                connection, fingerprint, up_to=_letter(up_to), actor=actor, note=reason
            )
        count += closed
        if not closed:
            break
    if not count:
        raise ledger.LetterNotFound(fingerprint)
    return count


def resolve_letter(letter_id: str, *, happened: bool, actor: str, reason: str = "") -> str:
    """Settle an unknown outcome; returns the job's id. Raises as `ledger.resolve` does."""
    with transaction() as connection:
        return ledger.resolve(connection, _letter(letter_id), happened=happened, actor=actor, note=reason)


def _queue(name: str) -> Queue:
    try:
        return Queue(name)
    except ValueError:
        raise NotFound(name) from None


def _letter(letter_id: str) -> str:
    if not is_id(letter_id):
        raise ledger.LetterNotFound(letter_id)
    return letter_id


def _checked(letter_id: str, payload: dict[str, Any]) -> ledger.Rewritten:
    """The payload as its type's schema writes it. Raises Refused with each field at fault, below `payload`."""
    with reading() as session:
        type_ = session.scalar(
            select(Job.type).join(DeadLetter, DeadLetter.job_id == Job.id).where(DeadLetter.id == letter_id)
        )
        if type_ is None and session.get(DeadLetter, letter_id) is None:
            raise ledger.LetterNotFound(letter_id)
    if type_ is None:
        raise ledger.WrongResolution("this letter is a message without a job; it can only be discarded")
    if type_ not in JOBS:
        raise ledger.WrongResolution(
            "this release does not know the job's type, so no payload can be checked"
        )
    schema = JOBS[type_].payload
    try:
        # As JSON, which is what is stored: a list there may be a tuple in the schema.
        written = schema.model_validate_json(json.dumps(payload)).dump()
    except ValidationError as error:
        faults = error.errors(include_input=False, include_url=False, include_context=False)
        reasons = {path(("payload", *fault["loc"])): fault["msg"] for fault in faults}
        raise refuse_fields("payload_invalid", reasons) from None
    except PayloadInvalid as error:
        raise Refused("payload_invalid", f"{error}.".capitalize(), field="payload") from None
    # How JSON writes a NUL; after a backslash that stands for itself it would be six plain characters.
    if "\\u0000" in json.dumps(written).replace("\\\\", ""):
        raise Refused("payload_invalid", "Payload must not contain NUL characters.", field="payload")
    return ledger.Rewritten(written, schema.version)
