"""The relay publishes every unfinished job that is overdue. Any number of them may run at once."""

import math
import signal
import time
from types import FrameType

import structlog

from db import ledger
from db.engine import autocommit, transaction
from tasks.engine.patience import until_database_answers
from tasks.engine.publisher import BrokerUnavailable, Publisher
from tasks.engine.reconcile import LOOK_EVERY_S, Reconciler
from tasks.engine.settle import take_back
from tasks.engine.verdict import WorkerLost
from tasks.engine.wake import Bell

log = structlog.get_logger()

# For what nobody rang about, and what no `due_at` foretells: a batch that is complete.
LONGEST_SLEEP_S = 0.5
# What is due at about the same time travels together.
SHORTEST_SLEEP_S = 0.02
_BATCH = 500
# Not a request that a person waits for: a slow broker may take this long.
_PUBLISH_TIMEOUT_S = 10


class Relay:
    """One loop; `stop` ends it after the batch under way."""

    def __init__(self) -> None:
        self._publisher = Publisher(_PUBLISH_TIMEOUT_S)
        self._reconciler = Reconciler()
        self._stopping = False

    def stop(self, _signum: int = 0, _frame: FrameType | None = None) -> None:
        """End the loop (also as a signal handler)."""
        self._stopping = True

    def run(self) -> None:
        """Work until stopped."""
        bell = Bell()
        log.info("relay.started")
        look_at = time.monotonic()
        while not self._stopping:
            # Asked before the look, so that nothing comes due unseen between the two: a job under a limit is to be
            # published when its turn comes.
            wake_at = until_database_answers(_next_due_at)
            busy = until_database_answers(self.tick)
            if time.monotonic() >= look_at:
                until_database_answers(self._reconciler.look)
                look_at = time.monotonic() + LOOK_EVERY_S
            if not busy:
                bell.wait(sleep_s(wake_at - time.monotonic()))
        self._publisher.close()
        bell.close()
        log.info("relay.stopped")

    def tick(self) -> bool:
        """Take back expired leases, complete batches, publish what is due; True when more may be due at once."""
        recover_expired()
        with transaction() as connection:
            ledger.complete_batches(connection)
            due = ledger.take_overdue(connection, limit=_BATCH)
        if not due:
            return False
        try:
            self._publisher.publish(due)
        except BrokerUnavailable as error:
            # They are due again when the relay's own lease on them ends.
            log.warning("relay.broker_unavailable", jobs=len(due), reason=str(error))
            return False
        with autocommit(durable=False) as connection:
            ledger.mark_published(connection, [job.id for job in due])
        return len(due) == _BATCH


def sleep_s(until_due_s: float) -> float:
    """How long to sleep when the next job is due in so many seconds."""
    # And a millisecond, because SQLite's clock counts whole ones.
    return min(LONGEST_SLEEP_S, max(SHORTEST_SLEEP_S, until_due_s + 0.001))


def _next_due_at() -> float:
    """By this process's monotonic clock; infinity when nothing is going to be due."""
    with autocommit() as connection:
        wait = ledger.next_due(connection)
    return math.inf if wait is None else time.monotonic() + wait.total_seconds()


def recover_expired() -> None:
    """Take back running jobs whose worker let the lease run out."""
    with autocommit() as connection:
        starts = ledger.expired(connection)
    take_back(starts, WorkerLost())


def run_relay() -> None:
    """Run a relay in this process until SIGTERM or SIGINT."""
    relay = Relay()
    signal.signal(signal.SIGTERM, relay.stop)
    signal.signal(signal.SIGINT, relay.stop)
    relay.run()
