"""Runs the supervisor for real, in a process of its own, over tiny programs."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]

RUNNER = """
import json, os, pathlib, sys
from dev.errors import CannotStart, ProgramFailed, StopRequested
from dev.supervisor import Supervisor

programs, grace = json.loads(sys.argv[1]), float(sys.argv[2])
try:
    with Supervisor(output=sys.stdout, environment=os.environ, folder=pathlib.Path.cwd(), grace=grace) as all_of_them:
        for name, command, needed in programs:
            all_of_them.start(name, command, needed=needed)
        all_of_them.speak_up()
        all_of_them.show("everything is ready")
        all_of_them.watch()
except StopRequested:
    print("everything has stopped", flush=True)
    sys.exit(0)
except (CannotStart, ProgramFailed) as reason:
    print(reason, file=sys.stderr)
    sys.exit(1)
"""


class Runner:
    """A supervisor under test: its process, and everything it has printed so far."""

    def __init__(
        self, programs: Sequence[tuple[str, list[str], bool]], grace: float, *, closed: bool = False
    ) -> None:
        self.lines: list[str] = []
        reader, unread = os.pipe()
        os.close(reader)
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUNNER, json.dumps(list(programs)), str(grace)],
            cwd=ROOT,
            # Buffered, as it is for most people.
            env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
            stdout=unread if closed else subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        os.close(unread)

    def read_until(self, text: str) -> str:
        """The first further line that contains the text; fails the test at the end of the output."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if text in line:
                return line.rstrip()
        raise AssertionError(f"{text!r} was not printed; this was: {self.lines}")

    def number_after(self, text: str) -> int:
        """Wait for `text NUMBER` and return the number."""
        return int(self.read_until(text).rpartition(" ")[2])

    def end(self, *signals: signal.Signals) -> int:
        """Send the signals, read the rest of the output, and return the exit code."""
        for number in signals:
            self.process.send_signal(number)
        assert self.process.stdout is not None
        self.lines += [line.rstrip() for line in self.process.stdout]
        return self.process.wait(timeout=30)


@pytest.fixture
def run() -> Iterator[Callable[..., Runner]]:
    """Start a supervisor over `("name", "shell script")` pairs; a third True makes it a needed program.

    With `closed`, nobody reads what it prints, from the beginning.
    """
    started: list[Runner] = []

    def start(
        *programs: tuple[str, str] | tuple[str, str, bool], grace: float = 20, closed: bool = False
    ) -> Runner:
        shells = [(name, ["sh", "-c", script], bool(rest)) for name, script, *rest in programs]
        started.append(Runner(shells, grace, closed=closed))
        return started[-1]

    yield start
    for runner in started:
        if runner.process.poll() is None:
            runner.process.kill()
        runner.process.wait()
        if runner.process.stdout is not None:
            runner.process.stdout.close()


@pytest.fixture
def is_gone() -> Callable[[int], bool]:
    """Whether a process ends within ten seconds (a zombie that nobody reaps counts as ended)."""

    def wait_for_end(pid: int) -> bool:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            try:
                if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                    return True
            except psutil.NoSuchProcess:
                return True
            time.sleep(0.02)
        return False

    return wait_for_end


@pytest.fixture
def busy_port() -> Iterator[int]:
    """A loopback port on which another program listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


@pytest.fixture
def free_port() -> int:
    """A loopback port on which nothing listened a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def other_free_port(free_port: int) -> int:
    """Another one."""
    with socket.create_server(("127.0.0.1", free_port)), socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No setting comes from this machine: neither from its environment nor from a `.env`."""
    from config.settings import Settings

    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("ENV_FILE", "")
    assert os.environ["ENV_FILE"] == ""
    return monkeypatch
