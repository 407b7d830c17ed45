"""After the commit: the messages of what was accepted go out, or are left to the relay."""

from collections.abc import Container, Sequence
from contextlib import suppress

import structlog
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from db import ledger
from db.engine import autocommit
from tasks.engine.pauses import paused_queues
from tasks.engine.publisher import BrokerUnavailable, publisher
from tasks.engine.wake import ring

log = structlog.get_logger()

# Beyond this many the relay publishes, so that a request does not spend its half second on messages.
PUBLISH_AT_ONCE = 200


def publish_committed(jobs: Sequence[ledger.Due]) -> None:
    """Send the messages of jobs whose rows are committed; leave what fails, or is too much, to the relay."""
    # The jobs are accepted: a database that just went away must not turn that into an error. Without its word on
    # pauses a message is sent that a worker will put back, and an unmarked job is only published once more.
    resting: Container[str] = ()
    with suppress(OperationalError, PoolTimeout):
        resting = paused_queues()
    jobs = [job for job in jobs if job.queue not in resting]
    if not jobs:
        return
    if len(jobs) > PUBLISH_AT_ONCE:
        ring()
        return
    try:
        publisher().publish(jobs)
    except BrokerUnavailable as error:
        log.warning("outbox.left_to_relay", jobs=len(jobs), reason=str(error))
        return
    with suppress(OperationalError, PoolTimeout), autocommit(durable=False) as connection:
        ledger.mark_published(connection, [job.id for job in jobs])
