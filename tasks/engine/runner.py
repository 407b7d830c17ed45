"""A message has arrived: claim the job, run its body, commit how it ended."""

import structlog

from config.settings import get_settings
from db import ledger
from db.engine import autocommit, transaction
from tasks.engine.admission import may_start
from tasks.engine.job import JOBS, JobType, P
from tasks.engine.patience import until_database_answers
from tasks.engine.run import JobCancelled, Run
from tasks.engine.settle import settle, take_back
from tasks.engine.verdict import WorkerLost
from tasks.engine.worker import worker_id

log = structlog.get_logger()


def run_job(job: JobType[P], job_id: str) -> None:
    """Run the job if there is anything to run. Returns when its outcome is committed; raises nothing of the body's."""
    if not may_start(job, job_id):
        return
    start = until_database_answers(lambda: _claim(job_id)) or _take_over(job, job_id)
    if start is None:
        return
    # A message is only a hint: what the job is, its row says.
    job = JOBS.get(start.type, job)
    run = Run(start)
    try:
        payload = job.payload.load(start.payload_version, start.payload)
        # Raises for what admission let through because no window could hold it.
        job.weigh(payload)
        result = job.body(payload, run)
        until_database_answers(lambda: run.finish(result))
        log.info("job.succeeded", job_id=job_id, type=job.name, attempt=start.attempt)
    except ledger.LeaseLost:
        log.warning("job.lease_lost", job_id=job_id, type=job.name, attempt=start.attempt)
    except JobCancelled:
        _stop(start)
    except Exception as error:  # noqa: BLE001  # the one place that catches everything: each error has a verdict
        settle(job, start, error)
    finally:
        run.close()


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
    take_back(starts, WorkerLost())
    return _claim(job_id)


def _stop(start: ledger.Start) -> None:
    def commit() -> None:
        with transaction() as connection:
            ledger.stop(connection, start)

    until_database_answers(commit)
    log.info("job.cancelled", job_id=start.job_id, type=start.type)
