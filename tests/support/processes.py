"""Real workers and relays as processes of their own, which tests kill, freeze and restart.

Each is a context manager that leaves nothing of it behind::

    with worker(folder) as first, relay(folder):
        first.kill()

They read the environment that `configure` has set: the database and the broker of the test. `folder` takes
their output, which a failing wait shows.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import psutil

ROOT = Path(__file__).resolve().parents[2]
# Starting takes two seconds on an idle machine; other tests run beside.
START_S = 60

T = TypeVar("T")


def eventually(
    condition: Callable[[], T], *, within: float = 20, saying: Callable[[], object] | None = None
) -> T:
    """Ask until the answer is true and return it; fail after `within` seconds, `saying` how things stand."""
    deadline = time.monotonic() + within
    while not (answer := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within} s: {saying() if saying else condition}")
        time.sleep(0.02)
    return answer


def in_a_fork(act: Callable[[], object]) -> int:
    """Run `act` in a forked child and return its exit code: 0 if it answered something true."""
    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            code = 0 if act() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Process:
    """A program that runs in a process group of its own."""

    def __init__(self, command: Sequence[str], output: Path, **environment: object) -> None:
        self.output = output
        with output.open("ab") as log:
            self._popen = subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                env={**os.environ, **{name: str(value) for name, value in environment.items()}},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process that was started; of a worker, the parent of its pool."""
        return self._popen.pid

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self._popen.poll() is None

    def children(self) -> list[int]:
        """The processes it has started."""
        return [child.pid for child in psutil.Process(self.pid).children(recursive=True)]

    def log(self) -> str:
        """What it has printed."""
        return self.output.read_text(errors="replace")

    def printed(self, text: str) -> None:
        """Wait until it has printed the text."""
        eventually(lambda: text in self.log() or not self.alive, within=START_S, saying=self.log)
        assert text in self.log(), self.log()

    def send(self, number: signal.Signals) -> None:
        """Send a signal to this process alone."""
        self._popen.send_signal(number)

    def send_all(self, number: signal.Signals) -> None:
        """Send a signal to it and to its children, as a container does that is frozen or killed."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """SIGKILL for the whole group: what a container that dies looks like."""
        self.send_all(signal.SIGKILL)
        self._popen.wait()

    def ended(self, *, within: float = 30) -> int:
        """Wait for its end and return the exit code."""
        try:
            return self._popen.wait(timeout=within)
        except subprocess.TimeoutExpired:
            raise AssertionError(self.log()) from None


@contextmanager
def worker(
    folder: Path,
    *,
    queues: str = "default,dead_letter",
    concurrency: int = 1,
    name: str = "worker",
    options: Sequence[str] = (),
    **environment: object,
) -> Iterator[Process]:
    """A worker that knows the scripted jobs of `tests.support.jobs`."""
    served = ["--queues", queues, "--concurrency", str(concurrency), "--hostname", f"{name}@%h"]
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    command = ["-m", "celery", "-A", "tests.support.jobs", "worker", *served, *quiet, *options]
    with _running(command, folder / f"{name}.log", " ready.", environment) as process:
        yield process


@contextmanager
def relay(folder: Path, *, name: str = "relay", **environment: object) -> Iterator[Process]:
    """A relay that knows the scripted jobs, too. It starts beside the test, which waits for what it does."""
    with _running(["-m", "tests.support.relay"], folder / f"{name}.log", None, environment) as process:
        yield process


@contextmanager
def _running(
    command: Sequence[str], output: Path, ready: str | None, environment: dict[str, object]
) -> Iterator[Process]:
    process = Process(command, output, **environment)
    try:
        if ready is not None:
            process.printed(ready)
        yield process
    finally:
        process.kill()
