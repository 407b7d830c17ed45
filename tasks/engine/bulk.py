"""The bulk lane: one message, up to `batch_size` jobs, claimed and finished together, each with its own outcome.

For work by the ten thousand whose single job is short. What a job in it does, fails at or waits for is its own
affair: it has its row, its retry, its dead letter and its receipt. Only a crash is shared: all jobs of the message
that were not finished are started again, each in a message of its own, so that the one at fault is found.
"""

import time
from collections.abc import Sequence
from typing import Any

import structlog
from celery.exceptions import SoftTimeLimitExceeded

from config.settings import get_settings
from db import ledger
from db.engine import autocommit, transaction
from tasks.engine.admission import may_start
from tasks.engine.job import JOBS, JobType, P
from tasks.engine.patience import until_database_answers
from tasks.engine.run import JobCancelled, Run
from tasks.engine.settle import settle
from tasks.engine.worker import worker_id

log = structlog.get_logger()

# So long a finished job's row may say "running". A crash repeats what has not been written, except its effects.
_WRITE_EVERY_S = 1.0


def run_bulk(job: JobType[P], job_ids: Sequence[str]) -> None:
    """Run what can be claimed of these jobs, in order. Returns when every outcome is committed."""
    admitted = [job_id for job_id in job_ids if may_start(job, job_id)]
    starts = until_database_answers(lambda: _claim(admitted))
    lane = _Lane(job, starts)
    try:
        lane.run()
    except SoftTimeLimitExceeded:
        log.warning("bulk.time_limit", type=job.name, unbegun=len(lane.waiting))
    finally:
        lane.write()
        lane.hand_back()
    log.info("bulk.ended", type=job.name, jobs=len(starts), of=len(job_ids))


class _Lane:
    """The starts of one message: those that wait, and those that are done but not yet written."""

    def __init__(self, job: JobType[Any], starts: Sequence[ledger.Start]) -> None:
        self._job = job
        self.waiting = list(reversed(starts))
        self._done: list[tuple[ledger.Start, dict[str, Any] | None]] = []
        self._written_at = time.monotonic()

    def run(self) -> None:
        """One after the other."""
        while self.waiting:
            self._run_next()
            if time.monotonic() - self._written_at > _WRITE_EVERY_S:
                self.write()
                self._drop_cancelled()

    def write(self) -> None:
        """Commit what is done."""
        done, self._done = self._done, []
        self._written_at = time.monotonic()
        if not done:
            return

        def commit() -> int:
            with transaction() as connection:
                return ledger.finish_many(connection, done)

        finished = until_database_answers(commit)
        if finished < len(done):
            log.warning("bulk.leases_lost", type=self._job.name, jobs=len(done) - finished)

    def hand_back(self) -> None:
        """Return what was not begun, free of charge."""
        for start in self.waiting:
            _end(ledger.release, start)
        self.waiting = []

    def _run_next(self) -> None:
        start = self.waiting.pop()
        # A message is only a hint: what the job is, its row says.
        job = JOBS.get(start.type, self._job)
        run = Run(start)
        try:
            result = job.body(job.payload.load(start.payload_version, start.payload), run)
            if run.rows:
                until_database_answers(lambda: run.finish(result))
            else:
                self._done.append((start, result))
        except SoftTimeLimitExceeded as error:
            settle(job, start, error)
            raise
        except ledger.LeaseLost:
            log.warning("job.lease_lost", job_id=start.job_id, type=start.type, attempt=start.attempt)
        except JobCancelled:
            _end(ledger.stop, start)
        except Exception as error:  # noqa: BLE001  # as in the runner: each error has a verdict
            settle(job, start, error)
        finally:
            run.close()

    def _drop_cancelled(self) -> None:
        """A cancel in the middle of a campaign reaches those that have not begun."""
        with autocommit() as connection:
            cancelled = ledger.cancel_requested(connection, [start.job_id for start in self.waiting])
        for start in self.waiting:
            if start.job_id in cancelled:
                _end(ledger.stop, start)
        self.waiting = [start for start in self.waiting if start.job_id not in cancelled]


def _claim(job_ids: Sequence[str]) -> list[ledger.Start]:
    with autocommit(durable=False) as connection:
        return ledger.claim_many(connection, job_ids, worker=worker_id(), lease=get_settings().lease)


def _end(move: Any, start: ledger.Start) -> None:
    def commit() -> None:
        with transaction() as connection:
            move(connection, start)

    try:
        until_database_answers(commit)
    except ledger.LeaseLost:
        log.warning("job.lease_lost", job_id=start.job_id, type=start.type, attempt=start.attempt)
