"""Paused queues, as processes obey them: nothing of theirs is published, and a worker puts back what it receives."""

from collections.abc import Sequence

import structlog

from db import ledger
from db.engine import autocommit
from tasks.engine.patience import until_database_answers
from tasks.engine.remembered import Remembered

log = structlog.get_logger()

# Every process obeys a pause within this time.
OBEYED_WITHIN_S = 1.0


def _ask() -> dict[str, ledger.Pause]:
    with autocommit(durable=False) as connection:
        return ledger.pauses(connection)


_pauses = Remembered(_ask, seconds=OBEYED_WITHIN_S)


def paused_queues() -> dict[str, ledger.Pause]:
    """The pauses by queue, a second old at most. Raises what the database raises."""
    return _pauses.get()


def forget_pauses() -> None:
    """This process has just paused or resumed a queue."""
    _pauses.forget()


def startable(job_ids: Sequence[str]) -> Sequence[str]:
    """Those of a message's jobs that no pause holds; the others are put back, at the cost of no attempt."""
    if not until_database_answers(paused_queues):
        return job_ids

    def commit() -> set[str]:
        with autocommit() as connection:
            return ledger.put_back(connection, job_ids)

    held = until_database_answers(commit)
    if held:
        log.info("queue.paused", jobs=len(held))
    return [job_id for job_id in job_ids if job_id not in held]
