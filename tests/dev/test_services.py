"""The servers that development brings along."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from dev.services import valkey_answers, valkey_command


@contextmanager
def valkey(port: int, folder: Path) -> Iterator[redis.Redis]:
    process = subprocess.Popen(valkey_command(port, folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 10
        while not valkey_answers(port):
            assert process.poll() is None, process.communicate()[0].decode()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        with redis.Redis(port=port, decode_responses=True) as client:
            yield client
    finally:
        process.terminate()
        process.communicate(timeout=10)


def test_nothing_answers_before_it_is_started(free_port: int) -> None:
    assert not valkey_answers(free_port)


def test_the_embedded_valkey_never_evicts_and_listens_to_this_machine_only(
    free_port: int, tmp_path: Path
) -> None:
    with valkey(free_port, tmp_path / "valkey") as client:
        seen = client.config_get("maxmemory-policy", "bind", "appendonly")
        assert seen == {"maxmemory-policy": "noeviction", "bind": "127.0.0.1", "appendonly": "yes"}


def test_what_was_queued_is_there_after_a_restart(free_port: int, tmp_path: Path) -> None:
    with valkey(free_port, tmp_path / "valkey") as client:
        client.lpush("email", "message")
    with valkey(free_port, tmp_path / "valkey") as client:
        assert client.lrange("email", 0, -1) == ["message"]
