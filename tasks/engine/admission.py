"""May a job start now? Waiting for it costs no attempt."""

from datetime import timedelta

import structlog

from db import ledger
from db.engine import autocommit
from tasks.engine.job import JobType, P
from tasks.engine.limits import LimitsUnavailable
from tasks.engine.patience import until_database_answers

log = structlog.get_logger()

# Without the Redis that keeps the limits nobody may start; this is when a job asks again.
_LIMITS_AWAY = timedelta(seconds=10)


def wait_for_turn(job: JobType[P], job_id: str) -> timedelta:
    """How long the job has to wait under its limit; zero means that it is to start now."""
    if job.limit is None:
        return timedelta()
    try:
        return job.limit.reserve(job_id)
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
    wait = wait_for_turn(job, job_id)
    if not wait:
        return True

    def hold() -> None:
        with autocommit() as connection:
            ledger.hold_back(connection, job_id, delay=wait)

    until_database_answers(hold)
    return False
