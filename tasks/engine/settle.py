"""Carry out a verdict: one transaction that ends a start."""

from contextlib import suppress

import structlog

from db import ledger
from tasks.engine.announce import announce
from tasks.engine.job import JobType, P
from tasks.engine.limits import LimitsUnavailable, freeze
from tasks.engine.outbox import unit_of_work
from tasks.engine.patience import until_database_answers
from tasks.engine.verdict import Bury, Lose, Park, judge

log = structlog.get_logger()


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
