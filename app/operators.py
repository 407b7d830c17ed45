"""What operators do to jobs and dead letters, from the API, the console and the command line alike.

Each act is one transaction that also writes the audit log. Jobs that become due again are published by the
relay within half a second.
"""

from sqlalchemy import select

from app.reading.visible import is_id
from db import ledger
from db.engine import transaction
from db.models import Job


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


def replay_letter(letter_id: str, *, actor: str, reason: str = "") -> str:
    """Queue its job again; returns the job's id. Raises as `ledger.replay` does."""
    with transaction() as connection:
        return ledger.replay(connection, _letter(letter_id), actor=actor, note=reason)


def discard_letter(letter_id: str, *, actor: str, reason: str) -> None:
    """Close it and leave its job dead. Raises as `ledger.discard` does."""
    with transaction() as connection:
        ledger.discard(connection, _letter(letter_id), actor=actor, note=reason)


def resolve_letter(letter_id: str, *, happened: bool, actor: str, reason: str = "") -> str:
    """Settle an unknown outcome; returns the job's id. Raises as `ledger.resolve` does."""
    with transaction() as connection:
        return ledger.resolve(connection, _letter(letter_id), happened=happened, actor=actor, note=reason)


def _letter(letter_id: str) -> str:
    if not is_id(letter_id):
        raise ledger.LetterNotFound(letter_id)
    return letter_id
