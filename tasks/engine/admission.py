"""May a job start now? Asked before its start is counted, so that waiting costs no attempt."""

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


def may_start(job: JobType[P], job_id: str) -> bool:
    """True if it may; a job whose turn under its limit is later has gone back to wait for it."""
    if job.limit is None:
        return True
    try:
        wait = job.limit.reserve(job_id)
    except LimitsUnavailable as error:
        if job.limit.rate is None:
            # Only a freeze would have made it wait, and that is a courtesy.
            return True
        log.warning("limit.unavailable", job_id=job_id, key=job.limit.key, reason=str(error))
        wait = _LIMITS_AWAY
    if not wait:
        return True

    def hold() -> None:
        with autocommit() as connection:
            ledger.hold_back(connection, job_id, delay=wait)

    until_database_answers(hold)
    return False
