"""Questions to the broker, asked with real calls and a bound on every wait. Works for Redis, AMQP and SQS."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu import Connection
from kombu.exceptions import KombuError, OperationalError

from config.celery import transport, transport_options
from config.queues import Queue
from tasks.engine.celery import app
from tasks.engine.publisher import BrokerUnavailable

_TIMEOUT_S = 1.0


class BrokerRefuses(BrokerUnavailable):
    """It answers, and takes nothing."""


def ping(timeout_s: float = _TIMEOUT_S) -> None:
    """Open a connection, look at a queue and, on Redis, write. Raises BrokerUnavailable or BrokerRefuses."""
    with connection_to_broker(timeout_s) as connection:
        _depth(connection, Queue.DEFAULT)
        if connection.transport.driver_type == "redis":
            _write(connection)


def depths(timeout_s: float = _TIMEOUT_S) -> dict[Queue, int]:
    """How many messages wait in each queue; those that a worker holds are not counted. Raises BrokerUnavailable."""
    with connection_to_broker(timeout_s) as connection:
        return {queue: _depth(connection, queue) for queue in Queue}


@contextmanager
def connection_to_broker(timeout_s: float) -> Iterator[Any]:
    """A connection whose every wait is bounded. Raises BrokerUnavailable, also for what fails while it is used."""
    url = app.conf.broker_url
    connection: Any = Connection(
        url,
        transport=transport(url),
        connect_timeout=timeout_s,
        transport_options=transport_options(url, patience=timeout_s),
    )
    known = (OperationalError, KombuError, OSError)
    try:
        connection.ensure_connection(max_retries=0, timeout=timeout_s)
        yield connection
    except (*connection.connection_errors, *connection.channel_errors, *known) as error:
        raise BrokerUnavailable(type(error).__name__) from error
    finally:
        connection.release()


def _write(connection: Any) -> None:
    """A Redis whose memory is full, or that is a replica, answers everything but a write."""
    try:
        connection.default_channel.client.set("readiness", "", ex=60)
    except connection.channel_errors as error:
        raise BrokerRefuses(type(error).__name__) from error


def _depth(connection: Any, queue: Queue) -> int:
    # A channel of its own: RabbitMQ closes it on a queue that does not exist.
    channel = connection.channel()
    try:
        return int(channel.queue_declare(queue=queue.value, passive=True).message_count)
    except connection.channel_errors:
        # Nobody has published to it so far, or on Redis: it is empty, which is the same there.
        return 0
    finally:
        channel.close()
