"""What can be seen of workers, relays and Redis from outside, for `flask doctor`."""

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import redis

from config.celery import celery_options
from config.settings import get_settings
from tasks.engine.broker import connection_to_broker
from tasks.engine.celery import app
from tasks.engine.wake import bells

_TIMEOUT_S = 1.0
# Celery lets the environment overrule these two, past our settings.
_OVERRULED = ("broker_url", "result_backend")


class RedisUnavailable(Exception):
    """The server does not answer."""


@dataclass(frozen=True)
class Worker:
    """A worker that answered: its pool by Celery's name for it (`prefork`, `solo`, …) and what it listens to."""

    name: str
    pool: str
    queues: frozenset[str]


@dataclass(frozen=True)
class RedisServer:
    """`eviction` and `persistent` are None when the server does not tell. `ahead` is its clock against ours."""

    eviction: str | None
    persistent: bool | None
    ahead: timedelta


def workers(timeout_s: float = _TIMEOUT_S) -> list[Worker]:
    """The workers that answer within the time (waited for twice). Raises BrokerUnavailable."""
    with connection_to_broker(timeout_s) as connection:
        inspect = app.control.inspect(timeout=timeout_s, connection=connection)
        stats: dict[str, Any] = inspect.stats() or {}
        queues: dict[str, Any] = (inspect.active_queues() or {}) if stats else {}
    return [
        Worker(name, _pool(told), frozenset(queue["name"] for queue in queues.get(name) or ()))
        for name, told in sorted(stats.items())
    ]


def redis_server(url: str, timeout_s: float = _TIMEOUT_S) -> RedisServer:
    """Ask the Redis at `url`. Raises RedisUnavailable."""
    try:
        with redis.Redis.from_url(url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s) as client:
            asked = time.time()
            seconds, microseconds = client.time()
            ahead = seconds + microseconds / 1e6 - (asked + time.time()) / 2
            told = _configuration(client)
    except (redis.RedisError, OSError) as error:
        raise RedisUnavailable(type(error).__name__) from error
    persistent = None if told is None else told.get("appendonly") == "yes" or bool(told.get("save"))
    eviction = None if told is None else told.get("maxmemory-policy")
    return RedisServer(eviction, persistent, timedelta(seconds=ahead))


def relays(places: Sequence[Path] | None = None) -> int:
    """How many relays listen on this machine."""
    return sum(_listens(path) for path in bells(places))


def overruled() -> list[str]:
    """Options that Celery takes from its own environment variables instead of our settings."""
    wanted = celery_options(get_settings())
    return [name for name in _OVERRULED if getattr(app.conf, name) != wanted[name]]


def _configuration(client: "redis.Redis") -> dict[str, str] | None:
    """None where CONFIG is forbidden, as it is at most providers."""
    try:
        answer: Any = client.config_get("maxmemory-policy", "appendonly", "save")
    except redis.ResponseError:
        return None
    return {_text(name): _text(value) for name, value in answer.items()}


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _pool(told: dict[str, Any]) -> str:
    """`celery.concurrency.prefork:TaskPool` is `prefork`."""
    implementation = str(told.get("pool", {}).get("implementation", "unknown"))
    return implementation.partition(":")[0].rpartition(".")[2]


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bell:
        try:
            bell.connect(str(path))
        except OSError:
            # It was killed and could not clean up.
            return False
    return True
