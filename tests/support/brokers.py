"""Brokers that tests may break: a Valkey of the test's own, and a virtual host of RabbitMQ."""

import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from kombu import Connection

from config.queues import Queue
from db.types import new_id
from dev.services import valkey_answers, valkey_command
from tests.support.processes import eventually

START_RABBITMQ = (
    "docker run -d -p 5672:5672 rabbitmq:3.13, then TEST_AMQP_URL=amqp://guest:guest@127.0.0.1:5672//"
)


class Valkey:
    """A server that forgets everything when it is killed. Its port stays the same."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._command = [*valkey_command(self.port, folder), "--appendonly", "no"]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait for its first answer."""
        self._process = subprocess.Popen(self._command)
        eventually(lambda: valkey_answers(self.port))

    def kill(self) -> None:
        """SIGKILL; what it held is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """Kill it and start it empty."""
        self.kill()
        self.start()

    @property
    def client(self) -> "redis.Redis":
        """A client of its own for each call; it holds no connection while idle."""
        return redis.Redis(port=self.port, single_connection_client=False)


@contextmanager
def own_valkey(folder: Path) -> Iterator[Valkey]:
    """A running server of this test alone."""
    server = Valkey(folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def rabbitmq() -> Iterator[str]:
    """The URL of a virtual host without queues, this test's own while it runs.

    TEST_AMQP_URL names one that the tests may use; without it one is made with `rabbitmqctl` and removed.
    Skips where there is neither; fails in CI.
    """
    given = os.environ.get("TEST_AMQP_URL")
    if given is not None:
        with (Path(tempfile.gettempdir()) / "test-amqp-url.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            delete_queues(given)
            yield given
        return
    vhost = f"test-{new_id()}"
    if shutil.which("rabbitmqctl") is None or not _control("add_vhost", vhost):
        if os.environ.get("CI"):
            pytest.fail("RabbitMQ is needed in CI: set TEST_AMQP_URL")
        pytest.skip(f"RabbitMQ is not reachable; start one with: {START_RABBITMQ}")
    _control("set_permissions", "-p", vhost, "guest", ".*", ".*", ".*")
    yield f"amqp://guest:guest@127.0.0.1:5672/{vhost}"
    _control("delete_vhost", vhost)


def _control(*words: str) -> bool:
    return (
        subprocess.run(["rabbitmqctl", "--quiet", *words], capture_output=True, check=False).returncode == 0
    )


def delete_queues(url: str) -> None:
    """Queues keep their arguments and contents; the next test starts without them."""
    connection: Any = Connection(url)
    with connection:
        for queue in Queue:
            with connection.channel() as channel:
                channel.queue_delete(queue.value)


def drop_connections(url: str) -> None:
    """Close every connection to the virtual host, as a restart of RabbitMQ does."""
    _control("close_all_connections", "--vhost", url.rsplit("/", 1)[1], "test")
