"""Carry out a verdict: one transaction that ends a start."""

from collections.abc import Sequence
from contextlib import suppress

import structlog

from db import ledger
from db.engine import transaction
from tasks.engine.announce import announce
from tasks.engine.job import JOBS, JobType, P
from tasks.engine.limits import LimitsUnavailable, freeze
from tasks.engine.outbox import unit_of_work
from tasks.engine.patience import until_database_answers
from tasks.engine.verdict import Bury, Lose, Park, judge

log = structlog.get_logger()


def take_back(starts: Sequence[ledger.Start], error: Exception) -> None:
    """End the starts of a process that is gone, as the error demands. Those of unknown types are left to others.

    What shared a message and left no trace is not charged: it may not have begun.
    """
    known = [start for start in starts if start.type in JOBS]
    if not known:
        return

    def commit() -> set[str]:
        with transaction() as connection:
            return ledger.absolve(connection, known, suspect=True)

    absolved = until_database_answers(commit)
    if absolved:
        log.warning("bulk.taken_back", jobs=len(absolved), error=type(error).__name__)
    for start in known:
        if start.job_id not in absolved:
            settle(JOBS[start.type], start, error)


def settle(job: JobType[P], start: ledger.Start, error: BaseException) -> None:
    """End the start as the error demands. A start that no longer owns its job changes nothing."""
    verdict = judge(job, start, error)

    def commit() -> None:
        with unit_of_work() as work:
            connection = work.session.connection()
            match verdict:
                case Park(failure, delay, charge, _):
                    ledger.park(connection, start, failure, delay=delay, charge=charge)
                case Lose(failure):
                    ledger.lose(connection, start, failure)
                case Bury(failure, letter):
                    ledger.bury(connection, start, failure, letter)
                    announce(work, letter)

    try:
        until_database_answers(commit)
    except ledger.LeaseLost:
        log.warning("job.lease_lost", job_id=start.job_id, type=start.type)
        return
    if isinstance(verdict, Park) and verdict.freeze and job.limit is not None:
        # Only a courtesy to the others: without it each of them finds out by itself.
        with suppress(LimitsUnavailable):
            freeze(job.limit.key, verdict.delay)
    log.warning(
        "job.unsuccessful",
        verdict=type(verdict).__name__.lower(),
        job_id=start.job_id,
        type=start.type,
        attempt=start.attempt,
        code=verdict.failure.code,
    )
