"""The broker of one run, and what may become of it and of what it holds."""

import json
import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, cast

import redis
from kombu import Connection

from chaos.plan import Strike
from config.queues import Queue
from tests.support.brokers import Valkey

# Counts as "every queued message" without filling the queues faster than the workers empty them.
_MOST_COPIES = 1_000


class Broker(Protocol):
    """What a run needs of its broker. `strikes` are the faults that it and the rest can be made to have."""

    url: str
    strikes: tuple[Strike, ...]

    def flush(self) -> None:
        """Lose every message."""

    def restart(self) -> None:
        """Lose every connection and every message."""

    def pause(self, seconds: float) -> None:
        """Answer nothing for so long."""

    def repeat(self) -> int:
        """Add a copy of each message it still holds; returns how many."""


class RedisBroker:
    """A Valkey of this run that keeps nothing on disk."""

    strikes: tuple[Strike, ...] = tuple(Strike)

    def __init__(self, server: Valkey) -> None:
        self._server, self.url = server, server.url

    def flush(self) -> None:
        """FLUSHALL."""
        with self._server.client as client:
            client.flushall()

    def restart(self) -> None:
        """SIGKILL; what it held is gone."""
        self._server.kill()
        time.sleep(1)
        self._server.start()

    def pause(self, seconds: float) -> None:
        """CLIENT PAUSE."""
        with self._server.client as client:
            client.client_pause(int(seconds * 1000))

    def repeat(self) -> int:
        """Append each list to itself, and what workers hold unacknowledged to its queue, as a late broker does."""
        copies = 0
        with self._server.client as client:
            for held in cast(list[bytes], client.hvals("unacked")):
                message, _exchange, queue = json.loads(held)
                client.lpush(queue, json.dumps(message))
                copies += 1
            for key in self._lists(client):
                for message in cast(list[bytes], client.lrange(key, 0, _MOST_COPIES)):
                    client.lpush(key, message)
                    copies += 1
        return copies

    def _lists(self, client: "redis.Redis") -> list[bytes]:
        queues = tuple(queue.value.encode() for queue in Queue)
        keys = cast(list[bytes], client.keys("*"))
        return [key for key in keys if key.startswith(queues) and client.type(key) == b"list"]


class RabbitBroker:
    """A virtual host of this run, on a server that others use as well."""

    # Nobody can tell RabbitMQ to be silent.
    strikes: tuple[Strike, ...] = tuple(strike for strike in Strike if strike is not Strike.PAUSE_BROKER)

    def __init__(self, vhost: str) -> None:
        self._vhost = vhost
        self.url = f"amqp://guest:guest@127.0.0.1:5672/{vhost}"

    def flush(self) -> None:
        """Purge every queue."""
        with Connection(self.url) as connection:
            for queue in Queue:
                with self._channel(connection) as channel:
                    channel.queue_purge(queue.value)

    def restart(self) -> None:
        """Empty the queues and close the connections, which hands back what was not acknowledged."""
        self.flush()
        _control("close_all_connections", "--vhost", self._vhost, "restart")
        self.flush()

    def pause(self, seconds: float) -> None:
        """RabbitMQ has no such command, and no plan for it holds this fault."""
        raise RuntimeError("RabbitMQ cannot be paused; this fault is for a Redis")

    def repeat(self) -> int:
        """Take each message and put it back twice."""
        copies = 0
        with Connection(self.url) as connection, self._channel(connection) as channel:
            for queue in Queue:
                taken: list[Any] = []
                while len(taken) < _MOST_COPIES and (message := channel.basic_get(queue.value, no_ack=True)):
                    taken.append(message)
                for message in taken * 2:
                    channel.basic_publish(message, "", queue.value)
                copies += len(taken)
        return copies

    def _channel(self, connection: Connection) -> Any:
        # kombu's types know only what all of its transports have.
        return connection.channel()


@contextmanager
def own_broker(kind: str, folder: Path) -> Iterator[Broker]:
    """A broker of this run alone. RabbitMQ needs `rabbitmqctl` on this machine."""
    if kind == "rabbitmq":
        vhost = f"chaos-{secrets.token_hex(6)}"
        _control("add_vhost", vhost)
        try:
            _control("set_permissions", "-p", vhost, "guest", ".*", ".*", ".*")
            yield RabbitBroker(vhost)
        finally:
            _control("delete_vhost", vhost)
        return
    server = Valkey(folder)
    server.start()
    try:
        yield RedisBroker(server)
    finally:
        server.kill()


def _control(*words: str) -> None:
    subprocess.run(["rabbitmqctl", "--quiet", *words], check=True, capture_output=True)
