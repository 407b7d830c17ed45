"""The bulk lane: one message, up to `batch_size` jobs, claimed and finished together, each with its own outcome.

For work by the ten thousand whose single job is short. What a job in it does, fails at or waits for is its own
affair: it has its row, its retry, its dead letter and its receipt. Only a crash is shared: all jobs of the message
that were not finished are started again, each in a message of its own, so that the one at fault is found.

A message has its process for one turn. What has not begun by then, or when the queue is paused or the worker told to
go, is queued again as if it had never been claimed.
"""

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import structlog
from celery.exceptions import SoftTimeLimitExceeded

from config.settings import get_settings
from db import ledger
from db.engine import autocommit, transaction
from tasks.engine.admission import wait_for_turn
from tasks.engine.drain import draining
from tasks.engine.job import JOBS, JobType, P
from tasks.engine.patience import until_database_answers
from tasks.engine.pauses import paused_queues
from tasks.engine.run import JobCancelled, Run
from tasks.engine.settle import settle
from tasks.engine.worker import worker_id

log = structlog.get_logger()

# So long a finished job's row may say "running". A crash repeats what has not been written, except its effects.
_WRITE_EVERY_S = 1.0
# So long a message may begin jobs: the process has other messages, and a worker that drains twenty seconds. A turn
# costs a claim and a hand-back, so it is long enough for those not to show.
TURN = timedelta(seconds=5)


def run_bulk(job: JobType[P], job_ids: Sequence[str], *, turn: timedelta = TURN) -> None:
    """Run what can be claimed of these jobs, in order, at least one. Returns when every outcome is committed.

    What has not begun after `turn` is queued again.
    """
    starts = until_database_answers(lambda: _claim(job_ids))
    lane = _Lane(job, starts, turn)
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

    def __init__(self, job: JobType[Any], starts: Sequence[ledger.Start], turn: timedelta) -> None:
        self._job = job
        self.waiting = list(reversed(starts))
        self._done: list[tuple[ledger.Start, dict[str, Any] | None]] = []
        self._turn_ends_at = time.monotonic() + turn.total_seconds()
        self._write_at = time.monotonic() + _WRITE_EVERY_S

    def run(self) -> None:
        """One after the other, until the turn is over."""
        while self.waiting and not self._called_off():
            self._run_next()
            if time.monotonic() >= self._turn_ends_at:
                break
            if time.monotonic() >= self._write_at:
                self.write()
                self._look_after_the_rest()

    def write(self) -> None:
        """Commit what is done."""
        done, self._done = self._done, []
        self._write_at = time.monotonic() + _WRITE_EVERY_S
        if not done:
            return

        def commit() -> int:
            # Relaxed, as a single job's plain success is, and for the same reason.
            with autocommit(durable=False) as connection:
                return ledger.finish_many(connection, done)

        finished = until_database_answers(commit)
        if finished < len(done):
            log.warning("bulk.leases_lost", type=self._job.name, jobs=len(done) - finished)

    def hand_back(self) -> None:
        """Return what was not begun, free of charge."""
        unbegun, self.waiting = self.waiting, []
        if unbegun:
            _give_back(unbegun)

    def _called_off(self) -> bool:
        """Costs no statement: what this process knows of pauses is at most a second old."""
        return draining() or self.waiting[-1].queue in until_database_answers(paused_queues)

    def _run_next(self) -> None:
        start = self.waiting.pop()
        # A message is only a hint: what the job is, its row says.
        job = JOBS.get(start.type, self._job)
        run = Run(start)
        try:
            payload = job.payload.load(start.payload_version, start.payload)
            if wait := wait_for_turn(job, start.job_id, job.weigh(payload)):
                _give_back([start], wait=wait)
                return
            result = job.body(payload, run)
            if run.rows:
                until_database_answers(lambda: run.finish(result))
            else:
                self._done.append((start, result))
        except SoftTimeLimitExceeded as error:
            settle(job, start, error)
            raise
        except ledger.LeaseLost:
            log.warning("job.lease_lost", job_id=start.job_id, type=start.type, attempt=start.attempt)
            # Most likely not this one alone.
            self._write_at = 0.0
        except JobCancelled:
            _stop(start)
        except Exception as error:  # noqa: BLE001  # as in the runner: each error has a verdict
            settle(job, start, error)
        finally:
            run.close()

    def _look_after_the_rest(self) -> None:
        """Drop what others have taken over, and what was cancelled in the middle of a campaign."""
        if not self.waiting:
            return

        def ask() -> dict[str, bool]:
            with autocommit() as connection:
                return ledger.checkpoint_many(connection, self.waiting)

        may_go_on = until_database_answers(ask)
        for start in self.waiting:
            if may_go_on.get(start.job_id) is False:
                _stop(start)
        if lost := len(self.waiting) - len(may_go_on):
            log.warning("bulk.leases_lost", type=self._job.name, jobs=lost)
        self.waiting = [start for start in self.waiting if may_go_on.get(start.job_id)]


def _claim(job_ids: Sequence[str]) -> list[ledger.Start]:
    with autocommit(durable=False) as connection:
        return ledger.claim_many(connection, job_ids, worker=worker_id(), lease=get_settings().lease)


def _give_back(starts: Sequence[ledger.Start], *, wait: timedelta | None = None) -> None:
    def commit() -> None:
        with autocommit() as connection:
            ledger.give_back(connection, starts, wait=wait)

    until_database_answers(commit)


def _stop(start: ledger.Start) -> None:
    def commit() -> None:
        with transaction() as connection:
            ledger.stop(connection, start)

    try:
        until_database_answers(commit)
    except ledger.LeaseLost:
        log.warning("job.lease_lost", job_id=start.job_id, type=start.type, attempt=start.attempt)
