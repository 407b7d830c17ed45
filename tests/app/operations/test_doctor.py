"""flask doctor: each check's answer, and the line it says to change."""

import json
import os
import socket
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from flask import Flask

from app.operations.doctor import CHECKS, Finding, System
from app.operations.doctor.system import Database
from config.queues import Queue
from config.settings import Settings
from tasks.engine import inspection
from tasks.engine.inspection import RedisServer, Worker
from tasks.engine.job import JOBS
from tasks.engine.wake import Bell
from tests.support.ledger import add_job, pass_time
from tests.support.processes import worker

Configure = Callable[..., Settings]
ALL_QUEUES = frozenset(queue.value for queue in Queue)
OWN = {"SECRET_KEY": "k" * 40, "CONSOLE_PASSWORD": "p" * 40, "FLOWER_BASIC_AUTH": "a:b"}


class Described(System):
    """A system whose parts are as a test says."""

    def __init__(self, **parts: Any) -> None:
        # Where System's cached properties keep what they found.
        vars(self).update(parts)


def look(check: str, **parts: Any) -> Finding:
    """One check's finding."""
    return CHECKS[check](Described(**parts))


@pytest.fixture
def mail_port() -> Iterator[int]:
    """A port where somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


@pytest.mark.parametrize(
    ("check", "variables", "level", "change"),
    [
        ("mode", {}, "ok", None),
        ("mode", {"PUBLIC_URL": "https://jobs.example"}, "error", "APP_ENV=production"),
        ("mode", {"APP_ENV": "production", **OWN}, "ok", None),
        (
            "mode",
            {"APP_ENV": "production", "PUBLIC_URL": "http://jobs.example", **OWN},
            "warning",
            "PUBLIC_URL=https://jobs.example",
        ),
        ("secrets", {}, "warning", "SECRET_KEY="),
        ("secrets", {"PUBLIC_URL": "https://jobs.example"}, "error", "CONSOLE_PASSWORD="),
        ("secrets", OWN, "ok", None),
        ("flower", {}, "ok", None),
        ("flower", {"FLOWER_ADDRESS": "0.0.0.0"}, "error", "FLOWER_ADDRESS=127.0.0.1"),
        ("lease", {}, "ok", None),
        ("lease", {"LEASE_SECONDS": "1"}, "warning", "LEASE_SECONDS=30"),
        ("lease", {"LEASE_SECONDS": "3600"}, "warning", "LEASE_SECONDS=30"),
        ("mail server", {}, "error", "or start it"),
        (
            "mail server",
            {"SMTP_URL": "smtp://user:secret@mail.example"},
            "error",
            "SMTP_URL=smtp+starttls://",
        ),
        ("mail from", {"MAIL_FROM": "nobody"}, "error", "MAIL_FROM=Name <address@your.domain>"),
        ("anthropic key", {}, "ok", None),
        ("anthropic key", {"ANTHROPIC_API_KEY": "sk-ant-abc\n"}, "error", "ANTHROPIC_API_KEY="),
        ("anthropic key", {"ANTHROPIC_API_KEY": "abc"}, "warning", "ANTHROPIC_API_KEY=sk-ant-"),
        ("anthropic key", {"ANTHROPIC_API_KEY": "sk-ant-abc"}, "ok", None),
        ("limits", {"BROKER_URL": "amqp://127.0.0.1:1"}, "error", "REDIS_URL=redis://"),
        ("storage", {}, "ok", None),
        ("storage", {"STORAGE_URL": "/proc/nowhere"}, "error", "STORAGE_URL="),
        ("storage", {"STORAGE_URL": "nonsense://bucket"}, "error", "STORAGE_URL="),
        ("database file", {"DATABASE_URL": "postgresql://127.0.0.1:1/x"}, "ok", None),
        ("database", {"DATABASE_URL": "postgresql://127.0.0.1:1/x"}, "error", "DATABASE_URL="),
        ("broker", {}, "error", "BROKER_URL="),
        ("celery", {}, "ok", None),
        ("visibility", {}, "ok", None),
        ("time limits", {}, "ok", None),
    ],
)
def test_a_setting_is_judged(
    configure: Configure, check: str, variables: dict[str, str], level: str, change: str | None
) -> None:
    configure(**variables)
    finding = look(check)
    assert finding.level == level, finding
    assert (finding.change is None) is (change is None)
    assert (change or "") in (finding.change or "")


@pytest.mark.parametrize(
    ("check", "parts", "level", "change"),
    [
        ("eviction", {"redis": RedisServer("noeviction", True, timedelta())}, "ok", None),
        (
            "eviction",
            {"redis": RedisServer("allkeys-lru", True, timedelta())},
            "error",
            "maxmemory-policy noeviction",
        ),
        (
            "eviction",
            {"redis": RedisServer(None, None, timedelta())},
            "warning",
            "maxmemory-policy noeviction",
        ),
        ("persistence", {"redis": RedisServer("noeviction", False, timedelta())}, "ok", None),
        ("persistence", {"redis": None}, "unknown", None),
        ("eviction", {"redis": None}, "unknown", None),
        ("clocks", {"redis": None, "database": None}, "unknown", None),
        ("beat", {"stalled": None}, "unknown", None),
        ("canaries", {"stalled": None}, "unknown", None),
        (
            "clocks",
            {"redis": RedisServer(None, None, timedelta(seconds=3))},
            "warning",
            "timedatectl set-ntp true",
        ),
        (
            "clocks",
            {"redis": None, "database": Database(True, timedelta(seconds=-9))},
            "warning",
            "timedatectl set-ntp true",
        ),
        ("relay", {"database": Database(True), "relays": 1}, "ok", None),
        ("relay", {"database": Database(True), "relays": 0}, "warning", "flask relay"),
        (
            "relay",
            {"database": Database(True, behind=timedelta(minutes=2)), "relays": 1},
            "error",
            "flask relay",
        ),
        ("database", {"database": Database(migrated=False)}, "error", "flask migrate"),
        ("workers", {"workers": [Worker("w", "prefork", ALL_QUEUES)]}, "ok", None),
        ("workers", {"workers": [Worker("w", "prefork", ALL_QUEUES - {"ai"})]}, "warning", "--queues ai"),
        ("workers", {"workers": []}, "warning", "celery -A tasks worker"),
        ("workers", {"workers": None}, "unknown", None),
        ("pool", {"workers": None}, "unknown", None),
        ("pool", {"workers": [Worker("w", "prefork", ALL_QUEUES)]}, "ok", None),
        ("pool", {"workers": [Worker("w", "solo", ALL_QUEUES)]}, "warning", "--pool prefork"),
        ("pool", {"workers": [Worker("w", "gevent", ALL_QUEUES)]}, "warning", "--pool prefork"),
        ("celery", {"overruled": ["broker_url"]}, "error", "unset CELERY_BROKER_URL"),
    ],
)
def test_a_part_is_judged(
    database: str, check: str, parts: dict[str, Any], level: str, change: str | None
) -> None:
    finding = look(check, **{"limits_redis": None, **parts})
    assert finding.level == level, finding
    assert (finding.change is None) is (change is None)
    assert (change or "") in (finding.change or "")


def test_a_mail_server_that_listens_is_ok(configure: Configure, mail_port: int) -> None:
    configure(SMTP_URL=f"smtp://127.0.0.1:{mail_port}")
    assert look("mail server") == Finding("ok", f"smtp to port {mail_port}")


def test_a_restart_that_loses_messages_is_told_of_in_production(configure: Configure) -> None:
    configure(APP_ENV="production", **OWN)
    finding = look("persistence", redis=RedisServer("noeviction", False, timedelta()))
    assert (finding.level, finding.change) == ("warning", "appendonly yes  # redis.conf")


def test_a_job_that_may_run_longer_than_the_visibility_timeout_is_an_error(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JOBS["images.resize_image"], "time_limit", 7200)
    finding = look("visibility")
    assert finding.level == "error"
    assert finding.change == "VISIBILITY_TIMEOUT = timedelta(seconds=14400)  # config/celery.py"


def test_a_soft_limit_that_never_fires_is_an_error(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JOBS["images.resize_image"], "soft_time_limit", 300)
    finding = look("time limits")
    assert finding.level == "error"
    assert "images.resize_image" in finding.says


@pytest.mark.parametrize(("type_", "level"), [("nfs4", "error"), ("cifs", "error"), ("ext4", "ok")])
def test_sqlite_on_a_network_is_an_error(database: str, type_: str, level: str) -> None:
    class Mounted(System):
        def filesystem(self, folder: Path) -> str:
            return type_

    assert CHECKS["database file"](Mounted()).level == level


def test_a_folder_that_cannot_be_written_is_an_error(database: str) -> None:
    class ReadOnly(System):
        def writable(self, folder: Path) -> bool:
            return False

    assert CHECKS["database file"](ReadOnly()).level == "error"


def test_the_filesystem_of_a_folder_is_found(tmp_path: Path) -> None:
    assert System().filesystem(Path("/proc/self")) == "proc"
    assert System().filesystem(tmp_path) not in ("", "proc")


def test_celerys_own_variables_that_overrule_ours_are_found(
    broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert inspection.overruled() == []
    monkeypatch.setenv("CELERY_RESULT_BACKEND", "redis://127.0.0.1:1")
    assert inspection.overruled() == ["result_backend"]


def test_a_relay_that_was_killed_does_not_count(tmp_path: Path) -> None:
    bell = Bell([tmp_path])
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as killed:
        killed.bind(str(tmp_path / "1.sock"))
    assert inspection.relays([tmp_path]) == 1
    bell.close()
    assert inspection.relays([tmp_path]) == 0


def test_a_job_that_nobody_publishes_is_seen(database: str) -> None:
    pass_time(add_job())
    assert CHECKS["relay"](System()).level == "error"


def test_redis_is_asked(database: str, broker: str) -> None:
    server = inspection.redis_server(broker)
    assert (server.eviction, server.persistent) == ("noeviction", True)
    assert abs(server.ahead) < timedelta(seconds=1)


@pytest.fixture
def secretive(broker: str) -> Iterator[str]:
    """The broker, for a user whom it does not tell its configuration."""
    with redis.Redis.from_url(broker) as client:
        client.acl_setuser(
            "guest", enabled=True, passwords=["+word"], categories=["+@all"], commands=["-config"], keys=["*"]
        )
        yield broker.replace("redis://", "redis://guest:word@")
        client.acl_deluser("guest")


def test_a_redis_that_tells_nothing_is_unknown(database: str, configure: Configure, secretive: str) -> None:
    configure(BROKER_URL=secretive)
    assert inspection.redis_server(secretive).eviction is None
    assert CHECKS["eviction"](System()).level == "warning"


def test_workers_are_asked_for_their_pool_and_queues(database: str, broker: str, tmp_path: Path) -> None:
    assert inspection.workers(0.2) == []
    with worker(tmp_path, queues="default,ai"):
        [found] = inspection.workers(5)
    assert (found.pool, found.queues) == ("prefork", frozenset({"default", "ai"}))


def test_the_command_ends_with_0_when_nothing_is_an_error(
    app: Flask, broker: str, configure: Configure, mail_port: int
) -> None:
    configure(SMTP_URL=f"smtp://127.0.0.1:{mail_port}")
    told = app.test_cli_runner().invoke(args=["doctor"])
    assert told.exit_code == 0, told.output
    lines = told.output.splitlines()
    checks = [line for line in lines if line.startswith(("ok ", "unknown ", "warning "))]
    assert len(checks) == len(CHECKS)
    assert lines[-1].startswith("ok: ")
    assert "change: SECRET_KEY=" in told.output


def test_the_command_ends_with_1_on_an_error_and_tells_programs(app: Flask) -> None:
    told = app.test_cli_runner().invoke(args=["doctor", "--json"])
    assert told.exit_code == 1
    found = {finding["check"]: finding for finding in json.loads(told.output)}
    assert list(found) == list(CHECKS)
    assert found["broker"]["level"] == "error"
    assert found["broker"]["change"].startswith("BROKER_URL=")


def test_no_secret_is_told(app: Flask, configure: Configure) -> None:
    canary = "S3CR3T-CANARY"
    configure(
        SMTP_URL=f"smtp://user:{canary}@mail.example",
        BROKER_URL=f"redis://:{canary}@127.0.0.1:1/0",
        ANTHROPIC_API_KEY=f" sk-{canary}",
        CONSOLE_PASSWORD=canary,
        SECRET_KEY=canary,
        MAIL_FROM=canary,
    )
    assert os.environ["SECRET_KEY"] == canary
    assert canary not in app.test_cli_runner().invoke(args=["doctor"]).output
