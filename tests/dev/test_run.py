"""`make run` itself, in a copy of the project: everything really starts, and everything really ends."""

import base64
import http.client
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from config.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("app", "tasks", "services", "db", "config", "dev", "Procfile")


def get(port: int, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path, headers=dict(headers or {}))
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


class Stack:
    """A running `python -m dev.run` in its own copy of the project."""

    def __init__(self, folder: Path, **settings: int) -> None:
        self.port, self.flower_port = settings["PORT"], settings["FLOWER_PORT"]
        ours = {"ENV_FILE", *(name.upper() for name in Settings.model_fields)}
        known = {name: value for name, value in os.environ.items() if name not in ours}
        known |= {name: str(value) for name, value in settings.items()}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dev.run"],
            cwd=folder,
            env=known,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []

    def read_until(self, text: str) -> str:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if text in line:
                return line
        raise AssertionError(f"{text!r} was not printed; this was:\n{''.join(self.lines)}")

    def value(self, label: str) -> str:
        return self.read_until(f"  {label}  ").partition(label)[2].strip()

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project's files in a folder of their own, so that no other running copy is disturbed."""
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path / part)
    return tmp_path


@pytest.fixture
def stack(copy: Path, free_port: int, other_free_port: int) -> Iterator[Stack]:
    running = Stack(copy, PORT=free_port, FLOWER_PORT=other_free_port)
    yield running
    if running.process.poll() is None:
        running.end(signal.SIGTERM)


def basic(login: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(login.encode()).decode()}


def test_one_command_starts_everything_and_ctrl_c_ends_everything(copy: Path, stack: Stack) -> None:
    stack.read_until("Ready.")
    console, flower = stack.value("Console"), stack.value("Flower")
    outbox, token = stack.value("Outbox"), stack.value("API token")

    assert get(stack.port, "/readyz")[0] == 200
    assert get(stack.port, "/")[0] == 200
    assert f"127.0.0.1:{stack.port}/console" in console
    assert get(int(outbox.split()[0].rpartition(":")[2]), "/")[0] == 200

    login = flower.partition("(")[2].rstrip(")").replace(" / ", ":")
    assert get(stack.flower_port, "/api/workers")[0] == 401
    assert get(stack.flower_port, "/metrics")[0] == 404
    assert get(stack.flower_port, "/api/workers", basic(login))[0] == 200
    everything = psutil.Process(stack.process.pid).children(recursive=True)
    assert not any(login.partition(":")[2] in " ".join(process.cmdline()) for process in everything)

    unknown = get(
        stack.port, f"/api/v1/jobs/{'0' * 8}-0000-7000-8000-{'0' * 12}", {"Authorization": f"Bearer {token}"}
    )
    assert unknown[0] == 404

    second = subprocess.run(
        [sys.executable, "-m", "dev.run"], cwd=copy, capture_output=True, text=True, check=False
    )
    assert second.returncode == 1
    assert second.stderr.strip() == f"make run: already running here (process {stack.process.pid})"

    assert stack.end(signal.SIGINT) == 0
    _, alive = psutil.wait_procs(everything, timeout=5)
    assert alive == []
