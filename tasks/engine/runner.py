"""A message has arrived: claim the job, run its body, commit how it ended."""

from datetime import timedelta

import structlog
from sqlalchemy.orm import Session

from config.settings import get_settings
from db import ledger
from db.engine import autocommit, transaction
from tasks.engine.job import JobType, P
from tasks.engine.limits import LimitsUnavailable
from tasks.engine.patience import until_database_answers
from tasks.engine.run import JobCancelled, Run
from tasks.engine.settle import settle
from tasks.engine.verdict import WorkerLost
from tasks.engine.worker import worker_id

log = structlog.get_logger()

# Without the Redis that keeps the limits nobody may start; this is when a job asks again.
_LIMITS_AWAY = timedelta(seconds=10)


def run_job(job: JobType[P], job_id: str) -> None:
    """Run the job if there is anything to run. Returns when its outcome is committed; raises nothing of the body's."""
    if not _may_start(job, job_id):
        return
    start = until_database_answers(lambda: _claim(job_id)) or _take_over(job, job_id)
    if start is None:
        return
    run = Run(start)
    try:
        result = job.body(job.payload.load(start.payload_version, start.payload), run)
        until_database_answers(lambda: _finish(run, result))
        log.info("job.succeeded", job_id=job_id, type=job.name, attempt=start.attempt)
    except ledger.LeaseLost:
        log.warning("job.lease_lost", job_id=job_id, type=job.name, attempt=start.attempt)
    except JobCancelled:
        _stop(start)
    except Exception as error:  # noqa: BLE001  # the one place that catches everything: each error has a verdict
        settle(job, start, error)
    finally:
        run.close()


def _may_start(job: JobType[P], job_id: str) -> bool:
    """Under a limit, a job whose turn is later goes back to wait for it, before its start would be counted."""
    if job.limit is None:
        return True
    try:
        wait = job.limit.reserve(job_id)
    except LimitsUnavailable as error:
        log.warning("limit.unavailable", job_id=job_id, key=job.limit.key, reason=str(error))
        wait = _LIMITS_AWAY
    if not wait:
        return True

    def hold() -> None:
        with autocommit() as connection:
            ledger.hold_back(connection, job_id, delay=wait)

    until_database_answers(hold)
    return False


def _claim(job_id: str) -> ledger.Start | None:
    with autocommit(durable=False) as connection:
        return ledger.claim(connection, job_id, worker=worker_id(), lease=get_settings().lease)


def _take_over(job: JobType[P], job_id: str) -> ledger.Start | None:
    """Nothing to claim: usually a repeated message. A lease that ran out is taken over here."""
    with autocommit() as connection:
        found = ledger.why_unclaimed(connection, job_id)
    if not found.lease_expired:
        log.info("job.nothing_to_do", job_id=job_id, type=job.name, state=found.state)
        return None
    with autocommit() as connection:
        starts = ledger.expired(connection, job_id=job_id)
    for start in starts:
        settle(job, start, WorkerLost())
    return _claim(job_id)


def _finish(run: Run, result: dict[str, object] | None) -> None:
    """The rows that the body made and the job's success are one commit."""
    if not run.rows:
        with autocommit() as connection:
            ledger.finish(connection, run.start, result)
        return
    with transaction() as connection, Session(connection, expire_on_commit=False) as session:
        session.add_all(run.rows)
        session.flush()
        ledger.finish(connection, run.start, result)


def _stop(start: ledger.Start) -> None:
    def commit() -> None:
        with transaction() as connection:
            ledger.stop(connection, start)

    until_database_answers(commit)
    log.info("job.cancelled", job_id=start.job_id, type=start.type)
