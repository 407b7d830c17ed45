"""Has the broker lost something? The relay compares what it holds with what the ledger says it was given."""

import structlog

from config.queues import Queue
from config.settings import get_settings
from db import ledger
from db.engine import autocommit, transaction
from tasks.engine import broker
from tasks.engine.job import JOBS
from tasks.engine.pauses import paused_queues
from tasks.engine.publisher import BrokerUnavailable

log = structlog.get_logger()

# A lost message is found in the second look after its loss.
LOOK_EVERY_S = 10.0


class Reconciler:
    """Remembers whom the last look suspected: a job is published again when two looks in a row miss its message.

    One look is not enough, because it sees a job whose message a worker is just taking.
    """

    def __init__(self) -> None:
        self._suspects: dict[Queue, frozenset[str]] = {}

    def look(self) -> int:
        """Compare all queues once and return how many jobs are to be published again."""
        if get_settings().broker_url.startswith("sqs://"):
            # SQS keeps its messages on several machines and can only estimate their number.
            return 0
        try:
            # Before the ledger is read: what leaves the queue meanwhile leaves the ledger's list as well.
            held = broker.depths()
        except BrokerUnavailable:
            self._suspects.clear()
            return 0
        # Workers put back the jobs of a paused queue, so its messages say nothing about them.
        resting = paused_queues()
        return sum(
            self._compare(queue, depth * _jobs_per_message(queue))
            for queue, depth in held.items()
            if queue not in resting
        )

    def _compare(self, queue: Queue, depth: int) -> int:
        with autocommit(durable=False) as connection:
            missing = frozenset(ledger.missing(connection, queue, held=depth))
            if not missing:
                ledger.still_held(connection, queue)
        lost = missing & self._suspects.get(queue, frozenset())
        self._suspects[queue] = missing - lost
        if not lost:
            return 0
        with transaction() as connection:
            again = ledger.publish_again(connection, sorted(lost))
        log.warning("relay.messages_lost", queue=queue.value, jobs=again)
        return again


def _jobs_per_message(queue: Queue) -> int:
    """At most: messages of the bulk lane may hold fewer, so a small loss there is found when the queue is empty."""
    return max((job.batch_size for job in JOBS.values() if job.queue == queue), default=1)
