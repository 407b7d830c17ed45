"""May a job start now? Waiting for it costs no attempt."""

from datetime import timedelta
from typing import Any

import structlog

from db import ledger
from db.engine import autocommit
from tasks.engine.job import JobType, P
from tasks.engine.limits import LimitsUnavailable
from tasks.engine.patience import until_database_answers

log = structlog.get_logger()

# Without the Redis that keeps the limits nobody may start; this is when a job asks again.
_LIMITS_AWAY = timedelta(seconds=10)


def wait_for_turn(job: JobType[P], job_id: str, weight: int) -> timedelta:
    """How long the job has to wait under its limit; zero means that it is to start now."""
    if job.limit is None:
        return timedelta()
    try:
        return job.limit.reserve(job_id, weight=weight)
    except LimitsUnavailable as error:
        if job.limit.rate is None:
            # Only a freeze would have made it wait, and that is a courtesy.
            return timedelta()
        log.warning("limit.unavailable", job_id=job_id, key=job.limit.key, reason=str(error))
        return _LIMITS_AWAY


def may_start(job: JobType[P], job_id: str) -> bool:
    """True if it may; a job whose turn under its limit is later has gone back to wait for it.

    Asked before the job is claimed.
    """
    weight = _weight(job, job_id)
    if weight is None:
        return True
    wait = wait_for_turn(job, job_id, weight)
    if not wait:
        return True

    def hold() -> None:
        with autocommit() as connection:
            ledger.hold_back(connection, job_id, delay=wait)

    until_database_answers(hold)
    return False


def _weight(job: JobType[P], job_id: str) -> int | None:
    """What the job counts as; None if that is more than its limit, or cannot be told: such a job is let through.

    For its body will not begin. The runner weighs it again, and the same error gets its verdict there.
    """
    if job.weight is None:
        return 1

    def ask() -> tuple[int, dict[str, Any]] | None:
        with autocommit(durable=False) as connection:
            return ledger.stored_payload(connection, job_id)

    stored = until_database_answers(ask)
    if stored is None:
        return None
    try:
        return job.weigh(job.payload.load(*stored))
    except Exception:  # noqa: BLE001  # whatever a weight's function raises; it is raised again where errors are judged
        return None
