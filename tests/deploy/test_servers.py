"""The configuration files of gunicorn and Flower, read as these two programs read them."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def values_of(file: str, names: str, settings: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Execute a configuration file in a fresh process and print some of its names, one per line."""
    code = f"import runpy; c = runpy.run_path({file!r}); [print(c[n]) for n in {names.split()!r}]"
    path = os.environ["PATH"]
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"ENV_FILE": "", "PATH": path, "PYTHONPATH": str(ROOT), **settings},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_web_server_listens_to_this_machine_only_in_development() -> None:
    seen = values_of("config/gunicorn.py", "bind worker_class", {"PORT": "8123"})
    assert seen.stdout.split() == ["127.0.0.1:8123", "config.web_worker.PacedWorker"]


def test_the_web_server_listens_to_the_network_on_port_in_production() -> None:
    production = {
        "APP_ENV": "production",
        "PORT": "9000",
        "SECRET_KEY": "k" * 40,
        "CONSOLE_PASSWORD": "p" * 20,
        "FLOWER_BASIC_AUTH": "a:b",
        "WEB_CONCURRENCY": "3",
        "FORWARDED_ALLOW_IPS": "10.0.0.1",
    }
    seen = values_of("config/gunicorn.py", "bind workers forwarded_allow_ips", production)
    assert seen.stdout.split() == ["0.0.0.0:9000", "3", "10.0.0.1"], seen.stderr


@pytest.mark.parametrize("login", ["", "no-password-in-it"])
def test_flower_refuses_to_start_without_a_login(login: str) -> None:
    seen = values_of("config/flower.py", "basic_auth", {"FLOWER_BASIC_AUTH": login})
    assert seen.returncode == 1
    assert seen.stderr.strip() == "Flower does not start without a login: set FLOWER_BASIC_AUTH=name:password"


def test_flower_takes_its_login_from_the_environment_and_stays_on_loopback() -> None:
    seen = values_of("config/flower.py", "basic_auth address read_only", {"FLOWER_BASIC_AUTH": "anna:word"})
    assert seen.stdout.split() == ["['anna:word']", "127.0.0.1", "True"], seen.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["flask", "doctor"],
        ["gunicorn", "--config", "config/gunicorn.py", "app:create_app()"],
        ["celery", "-A", "tasks", "worker"],
        ["celery", "-A", "tasks", "beat"],
        ["celery", "-A", "tasks", "flower", "--conf=config/flower.py"],
    ],
    ids=lambda command: " ".join(command[:1] + command[3:4]),
)
def test_a_wrong_setting_is_one_line_and_no_traceback(command: list[str]) -> None:
    ended = subprocess.run(
        [Path(sys.executable).with_name(command[0]), *command[1:]],
        cwd=ROOT,
        env={
            "ENV_FILE": "",
            "PATH": os.environ["PATH"],
            "BROKER_URL": "nonsense",
            "LEASE_SECONDS": "abc",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 1
    broker, lease = ended.stderr.strip().splitlines()
    assert broker.startswith("BROKER_URL: ")
    assert lease.startswith("LEASE_SECONDS: ")
