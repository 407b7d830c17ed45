"""Messages go out here: "look at job X now". They carry an id and nothing else.

The publishing connection is not Celery's: a web request must not wait for a broker that is down, so every
wait is bounded by half a second, and after a failure nobody tries again for a moment.
"""

import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import structlog
from kombu import Connection, Producer
from kombu.exceptions import BatchPublishError, OperationalError  # type: ignore[attr-defined]  # not in its types

from config.celery import transport, transport_options
from config.queues import Priority, broker_priority
from db.ledger import Due
from db.types import new_id
from tasks.engine.celery import app
from tasks.engine.message import EMBED, Message, bundled, headers

log = structlog.get_logger()

# What a request may lose on a broker that does not answer.
PUBLISH_TIMEOUT_S = 0.5
# After a failure the relay has the word; the next request in this process does not try before this.
_COOL_DOWN_S = 1.0


class BrokerUnavailable(Exception):
    """The broker did not take the messages; the ledger still holds the jobs."""


class Publisher:
    """One per thread, because a kombu channel must not be shared. Connects on first use."""

    def __init__(self, timeout_s: float = PUBLISH_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._producer: Any = None  # kombu's types know neither batch() nor collapse()
        self._connection: Any = None
        self._declared: set[str] = set()
        self._quiet_until = 0.0

    def publish(self, jobs: Sequence[Due]) -> None:
        """Send the jobs' messages, in order. Raises BrokerUnavailable; some may have been sent then."""
        if time.monotonic() < self._quiet_until:
            raise BrokerUnavailable("the broker did not answer a moment ago")
        try:
            producer = self._connect()
            with producer.batch():
                for message in bundled(jobs):
                    self._send(producer, message)
        except self._errors() as error:
            self.close()
            self._quiet_until = time.monotonic() + _COOL_DOWN_S
            raise BrokerUnavailable(type(error).__name__) from error

    def close(self) -> None:
        """Drop the connection; the next publish opens a new one."""
        connection, self._connection, self._producer = self._connection, None, None
        self._declared.clear()
        if connection is not None:
            # The broker may be what is broken, so a polite good-bye may fail as well.
            with suppress(*connection.recoverable_connection_errors, OSError):
                connection.release()

    def _connect(self) -> Any:
        if self._producer is None:
            url = app.conf.broker_url
            self._connection = Connection(
                url,
                transport=transport(url),
                connect_timeout=self._timeout_s,
                transport_options=transport_options(url, patience=self._timeout_s),
            )
            # Once: kombu's own patience would sleep for seconds between two tries.
            self._connection.ensure_connection(max_retries=0)
            self._producer = Producer(self._connection.channel(), auto_declare=False)
        return self._producer

    def _send(self, producer: Any, message: Message) -> None:
        if message.queue not in self._declared:
            app.amqp.queues[message.queue](producer.channel).declare()
            self._declared.add(message.queue)
        # One job's message has its id, so that Flower and the ledger speak of the same.
        id_ = message.job_ids[0] if len(message.job_ids) == 1 else new_id()
        producer.publish(
            (message.job_ids, {}, EMBED),
            exchange="",
            routing_key=message.queue,
            serializer="json",
            delivery_mode=2,
            priority=broker_priority(Priority(message.priority), app.conf.broker_url),
            correlation_id=id_,
            headers=headers(message.task, id_),
            retry=False,
            timeout=self._timeout_s,
        )

    def _errors(self) -> tuple[type[BaseException], ...]:
        # What a batch met on its way, kombu wraps in an error of its own that is no connection error.
        known = (OperationalError, BatchPublishError, OSError)
        if self._connection is None:
            return known
        return (
            *self._connection.recoverable_connection_errors,
            *self._connection.recoverable_channel_errors,
            *known,
        )


_local = threading.local()


def publisher() -> Publisher:
    """This thread's publisher, after a fork a new one."""
    if getattr(_local, "pid", None) != os.getpid():
        _local.pid, _local.publisher = os.getpid(), Publisher()
    return _local.publisher  # type: ignore[no-any-return]  # thread locals are untyped
