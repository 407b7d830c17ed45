"""The door of a full queue: new work is refused before anything is stored, the less urgent first.

Only what comes from outside is asked. Retries, alerts, canaries and whatever else the system owes is never refused.
"""

import threading
import time
from collections import Counter
from contextlib import suppress
from functools import cache, partial
from math import ceil

import structlog
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.intake.refusals import Refused
from config.queues import FULL, Priority, Queue
from config.settings import get_settings
from db import ledger
from db.engine import autocommit
from tasks.engine.remembered import Remembered

log = structlog.get_logger()

# The database is asked that often by each process, however many requests there are.
ASKED_EVERY_S = 1.0
# Nobody knows when a queue has room again; most clients wait longer with each try.
RETRY_AFTER_S = 30


def admit(queue: Queue, priority: Priority) -> None:
    """Raises Refused (`queue_full`, 503) while the queue is too full for new work of this priority."""
    settings, found = get_settings(), queue_pressure(queue)
    share = max(
        found.depth / settings.queue_max_depth, found.age.total_seconds() / settings.queue_max_age_seconds
    )
    if share < FULL[priority]:
        return
    log.warning(
        "queue.full", queue=queue, priority=priority, depth=found.depth, age_s=found.age.total_seconds()
    )
    _count(queue, priority)
    raise Refused(
        "queue_full",
        "Too much of this kind is waiting at the moment. Nothing was stored; please try again in half a minute.",
        status=503,
        retry_after=RETRY_AFTER_S,
    )


def queue_pressure(queue: Queue) -> ledger.Pressure:
    """How full the queue is, a second old at most; the depth is not counted beyond what every priority is refused at."""
    return _remembered(queue).get()


def write_refusals() -> None:
    """Add what this process has refused, and not yet written, to the figures."""
    with _counting:
        here, refusals = get_settings().database_url, Counter(_unwritten)
        _unwritten.clear()
    mine = {(queue, priority): count for (url, queue, priority), count in refusals.items() if url == here}
    if mine:
        with autocommit(durable=False) as connection:
            ledger.count_refused(connection, mine)


@cache
def _remembered(queue: Queue) -> Remembered[ledger.Pressure]:
    return Remembered(partial(_ask, queue), seconds=ASKED_EVERY_S)


def _ask(queue: Queue) -> ledger.Pressure:
    most = ceil(get_settings().queue_max_depth * max(FULL.values()))
    with autocommit(durable=False) as connection:
        return ledger.pressure(connection, queue, most=most)


_counting = threading.Lock()
# By database, queue and priority.
_unwritten: Counter[tuple[str, str, str]] = Counter()
_write_at = 0.0


def _count(queue: Queue, priority: Priority) -> None:
    """A flood of refusals must not become a flood of writes; the last second's may be missing from the figures."""
    global _write_at
    with _counting:
        _unwritten[get_settings().database_url, queue, priority] += 1
        if time.monotonic() < _write_at:
            return
        _write_at = time.monotonic() + ASKED_EVERY_S
    # The client is answered all the same.
    with suppress(OperationalError, PoolTimeout):
        write_refusals()
