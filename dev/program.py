"""One program of the stack: a process in a group of its own, and the lines it prints."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None
_PR_SET_PDEATHSIG = 1


def _end_with_the_runner() -> None:
    """Ask Linux for a SIGTERM when the runner dies, so that even its SIGKILL leaves nothing running."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Program:
    """Started on construction; raises OSError if the program cannot be executed.

    It leads its own session: Ctrl-C in the terminal reaches the runner alone, which then decides who stops
    when. It is ready once a printed line contains `ready_text`.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path,
        ready_text: str | None = None,
    ) -> None:
        self.name = name
        self._ready = ready_text is None
        self._ready_text = ready_text
        self.closed = False  # True once nothing more can be printed
        self._rest = b""
        self._popen = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # Safe here: the runner has one thread, and the function makes one system call.
            preexec_fn=_end_with_the_runner,
        )
        assert self._popen.stdout is not None  # noqa: S101  # stdout=PIPE
        self.output = self._popen.stdout.fileno()
        os.set_blocking(self.output, False)

    @property
    def pid(self) -> int:
        """Its process id, which is its process group's too."""
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        """The exit code (negative: the signal that ended it), or None while it runs."""
        return self._popen.poll()

    def is_ready(self) -> bool:
        """Whether it has said that it is ready; True at once if it was not asked to."""
        return self._ready

    def read_lines(self) -> Iterator[str]:
        """What it printed since the last call, in whole lines; the unfinished last one once it has ended."""
        while True:
            try:
                chunk = os.read(self.output, 65536)
            except BlockingIOError:
                return
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            if not chunk:
                self.closed = True
                lines, self._rest = ([self._rest] if self._rest else []), b""
            for line in lines:
                text = line.decode("utf-8", "replace").rstrip("\r")
                self._ready = self._ready or (self._ready_text or "") in text
                yield text
            if self.closed:
                return

    def ask_to_end(self) -> None:
        """SIGTERM to the program alone: Celery's pool processes would die of it in the middle of a job."""
        with suppress(ProcessLookupError):
            self._popen.terminate()

    def kill(self) -> None:
        """SIGKILL to the whole group, so that no process it started outlives it."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()

    def close(self) -> None:
        """Let go of its output."""
        if self._popen.stdout is not None:
            self._popen.stdout.close()
