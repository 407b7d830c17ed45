"""How long things are kept, and their removal. Open dead letters, the audit log and unsubscriptions stay."""

from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import Select, and_, delete, select

from config.settings import get_settings
from db.engine import reading, transaction
from db.models import Base, Batch, DeadLetter, EmailDelivery, IdempotencyKey, Job, Newsletter, StoredFile
from db.models.jobs import FINAL
from db.types import now
from services.storage import storage

# Rows per transaction, so that no lock is held for long.
_CHUNK = 500
# Canaries come every minute through every queue; only the latest tell anything.
_CANARY = timedelta(hours=1)
# A file is written before its row is committed. No request and no job takes nearly as long as this.
_ROW_FOLLOWS = timedelta(days=1)


def remove_expired(checkpoint: Callable[[], None]) -> dict[str, int]:
    """Remove what has outlived RETENTION_DAYS and FILE_RETENTION_DAYS; return the number of rows per kind.

    Calls `checkpoint` between chunks. Safe to interrupt and to repeat.
    """
    kept = timedelta(days=get_settings().retention_days)
    return {
        "files": _remove_files(checkpoint),
        "files_without_row": _remove_files_without_row(checkpoint),
        "jobs": _remove(Job, _finished_jobs(kept), checkpoint),
        "canaries": _remove(Job, _canaries(), checkpoint),
        "batches": _remove(Batch, _empty_batches(kept), checkpoint),
        "deliveries": _remove(EmailDelivery, _old_deliveries(kept), checkpoint),
        "newsletters": _remove(Newsletter, _old_newsletters(kept), checkpoint),
        "keys": _remove(IdempotencyKey, _expired_keys(kept), checkpoint),
        "letters": _remove(DeadLetter, _resolved_letters(kept), checkpoint),
    }


def _remove(model: type[Base], expired: Select[str], checkpoint: Callable[[], None]) -> int:
    key = model.__mapper__.primary_key[0]
    removed = 0
    while True:
        with transaction() as connection:
            ids = list(connection.scalars(expired.limit(_CHUNK)))
            connection.execute(delete(model).where(key.in_(ids)))
        removed += len(ids)
        if len(ids) < _CHUNK:
            return removed
        checkpoint()


def _remove_files(checkpoint: Callable[[], None]) -> int:
    """The file first: a row without a file says "no longer stored", a file without a row is lost space."""
    age = timedelta(days=get_settings().file_retention_days)
    expired = select(StoredFile.id, StoredFile.storage_key).where(StoredFile.created_at <= now(-age))
    removed = 0
    while True:
        with reading() as session:
            rows = session.execute(expired.limit(_CHUNK)).all()
        for row in rows:
            storage().delete(row.storage_key)
        with transaction() as connection:
            connection.execute(delete(StoredFile).where(StoredFile.id.in_([row.id for row in rows])))
        removed += len(rows)
        if len(rows) < _CHUNK:
            return removed
        checkpoint()


def _remove_files_without_row(checkpoint: Callable[[], None]) -> int:
    """Whoever wrote them died before the commit, or their rows went with their jobs."""
    removed = 0
    for stored in storage().stored_before(_ROW_FOLLOWS):
        for start in range(0, len(stored), _CHUNK):
            keys = stored[start : start + _CHUNK]
            known = select(StoredFile.storage_key).where(StoredFile.storage_key.in_(keys))
            with reading() as session:
                without_row = set(keys).difference(session.scalars(known))
            for key in without_row:
                storage().delete(key)
            removed += len(without_row)
            checkpoint()
    return removed


def _finished_jobs(kept: timedelta) -> Select[str]:
    waiting_for_people = select(DeadLetter.id).where(
        DeadLetter.job_id == Job.id, DeadLetter.resolution.is_(None)
    )
    return select(Job.id).where(
        Job.state.in_(FINAL), Job.finished_at <= now(-kept), ~waiting_for_people.correlate(Job).exists()
    )


def _canaries() -> Select[str]:
    return select(Job.id).where(
        Job.type == "canary.sing", Job.state == "succeeded", Job.finished_at <= now(-_CANARY)
    )


def _empty_batches(kept: timedelta) -> Select[str]:
    members = select(Job.id).where(Job.batch_id == Batch.id)
    return select(Batch.id).where(Batch.created_at <= now(-kept), ~members.correlate(Batch).exists())


def _old_deliveries(kept: timedelta) -> Select[str]:
    # A mail is retried for a day and may be scheduled: one that still waits was created lately or stands in a job.
    return select(EmailDelivery.id).where(EmailDelivery.created_at <= now(-2 * kept))


def _old_newsletters(kept: timedelta) -> Select[str]:
    # With the last of its deliveries, which were made in the same transaction.
    return select(Newsletter.id).where(Newsletter.created_at <= now(-2 * kept))


def _expired_keys(kept: timedelta) -> Select[str]:
    """Door keys by their own date, unique keys with their job, receipts of effects when nothing can ask for them."""
    settled = (IdempotencyKey.expires_at.is_(None), IdempotencyKey.state == "done")
    theirs = select(Job.id).where(Job.id == IdempotencyKey.job_id).correlate(IdempotencyKey).exists()
    # Reserved by nobody: no job of it is left.
    left_over = (
        IdempotencyKey.expires_at.is_(None),
        IdempotencyKey.state == "reserved",
        IdempotencyKey.created_at <= now(-kept),
        ~theirs,
    )
    return select(IdempotencyKey.key).where(
        (IdempotencyKey.expires_at <= now())
        | and_(*left_over)
        | (settled[0] & settled[1] & (IdempotencyKey.created_at <= now(-2 * kept)))
    )


def _resolved_letters(kept: timedelta) -> Select[str]:
    return select(DeadLetter.id).where(
        DeadLetter.resolution.is_not(None), DeadLetter.resolved_at <= now(-kept)
    )
