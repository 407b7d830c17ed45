"""Runs several programs as one: their output side by side, and all of them stop as soon as one does.

Honcho's Manager does nearly this, but it signals whole process groups, which kills Celery's pool processes
in mid-job, gives everything five seconds, and keeps one more Python process per program. Its Procfile
parser and its printer are used as they are.
"""

import datetime
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self, TextIO

from honcho.colour import get_colours
from honcho.printer import Message, Printer

from dev.errors import CannotStart, ProgramFailed, StopRequested
from dev.program import Program

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Supervisor:
    """Use as a context manager from the main thread: leaving it ends every program that was started.

    `grace` is how many seconds a program has to end by itself before it is killed.
    """

    def __init__(
        self, *, output: TextIO, environment: Mapping[str, str], folder: Path, grace: float = 10
    ) -> None:
        self._environment = environment
        self._folder = folder
        self._grace = grace
        self._programs: dict[Program, bool] = {}  # True: others need it, so it stops after them
        self._colours = get_colours()
        self._colour_of: dict[str, Any] = {}
        self._output = output
        self._printer: Printer | None = Printer(output, width=len("worker_images"))
        self._held: list[tuple[str, str]] | None = []
        self._stop_requests = 0
        self._selector = selectors.DefaultSelector()
        self._bell, self._bell_rope = socket.socketpair()
        self._before: dict[signal.Signals, Any] = {}
        self._fd_before = -1

    def __enter__(self) -> Self:
        for end in (self._bell, self._bell_rope):
            end.setblocking(False)
        self._selector.register(self._bell, selectors.EVENT_READ)
        # A signal's arrival wakes the selector up; the handlers themselves only count.
        self._fd_before = signal.set_wakeup_fd(self._bell_rope.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._on_stop_signal) for number in SIGNALS}
        self._before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if isinstance(error, ProgramFailed):
                self.speak_up(of=error.program)
            self.stop()
        finally:
            signal.set_wakeup_fd(self._fd_before)
            for number, handler in self._before.items():
                signal.signal(number, handler)
            self._selector.close()
            self._bell.close()
            self._bell_rope.close()

    def start(
        self, name: str, command: Sequence[str], *, ready_text: str | None = None, needed: bool = False
    ) -> Program:
        """Start one program; `needed` ones (a broker) outlive the others when everything stops.

        Raises CannotStart if it cannot be executed.
        """
        try:
            program = Program(
                name,
                command,
                environment=self._environment,
                folder=self._folder,
                ready_text=ready_text,
            )
        except OSError as error:
            raise CannotStart(f"{command[0]} cannot be started: {error.strerror}") from error
        self._programs[program] = needed
        self._selector.register(program.output, selectors.EVENT_READ, program)
        return program

    def run(self, name: str, command: Sequence[str]) -> None:
        """Run one program to its end; raise ProgramFailed if it fails."""
        program = self.start(name, command)
        while program.returncode is None:
            self._look(1, expected=program)
        self._forget(program)
        if program.returncode:
            raise ProgramFailed(name, f"failed with exit code {program.returncode}")

    def wait_until(self, ready: Callable[[], bool], *, program: str, seconds: float) -> None:
        """Look until `ready` holds; raise ProgramFailed after `seconds`, or if any program ends meanwhile."""
        deadline = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > deadline:
                raise ProgramFailed(program, f"was not ready after {seconds:.0f} s")
            self._look(0.1)

    def speak_up(self, *, of: str | None = None) -> None:
        """Pass output on from now. What was held back until then is shown of the one program `of`, if any."""
        held, self._held = self._held or [], None
        for name, line in held:
            if name == of:
                self.say(line, name)

    def watch(self) -> None:
        """Pass output on until a program ends (ProgramFailed) or a person wants to stop (StopRequested)."""
        while True:
            self._look(None)

    def show(self, text: str) -> None:
        """Print the text as it stands. A terminal that is gone counts as a wish to stop."""
        with self._noticing_a_lost_terminal():
            print(text, file=self._output, flush=True)

    def say(self, text: str, name: str = "") -> None:
        """Print lines in our own name. A terminal that is gone counts as a wish to stop."""
        if self._printer is None:
            return
        if name and name not in self._colour_of:
            self._colour_of[name] = next(self._colours)
        now = datetime.datetime.now().astimezone()
        colour = self._colour_of.get(name)
        with self._noticing_a_lost_terminal():
            self._printer.write(Message("line", text, now, name or "run", colour))

    def stop(self) -> None:
        """End all programs, the needed ones last; a further Ctrl-C kills what is left at once."""
        already = self._stop_requests
        for needed in (False, True):
            group = [program for program, last in self._programs.items() if last is needed]
            for program in group:
                program.ask_to_end()
            deadline = time.monotonic() + self._grace
            while any(program.returncode is None for program in group):
                if self._stop_requests > already or time.monotonic() > deadline:
                    break
                self._pass_on(0.2)
            for program in group:
                if program.returncode is None:
                    self.say(f"{program.name} did not end by itself and is killed")
                self._forget(program)

    @contextmanager
    def _noticing_a_lost_terminal(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self._printer = None
            self._stop_requests += 1
            # What could not be written waits in a buffer, and would fail again at each print, and when Python flushes
            # it at its end (exit code 120).
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), self._output.fileno())
            with suppress(BlockingIOError):
                self._bell_rope.send(b".")

    def _look(self, timeout: float | None, *, expected: Program | None = None) -> None:
        self._pass_on(timeout)
        if self._stop_requests:
            raise StopRequested
        for program in self._programs:
            if program is not expected and program.returncode is not None:
                self._print_output(program)
                raise ProgramFailed(program.name, f"ended with exit code {program.returncode}")

    def _pass_on(self, timeout: float | None) -> None:
        for key, _ in self._selector.select(timeout):
            if isinstance(key.data, Program):
                self._print_output(key.data)
            else:
                with suppress(BlockingIOError):
                    self._bell.recv(4096)

    def _print_output(self, program: Program) -> None:
        for line in program.read_lines():
            if self._held is None:
                self.say(line, program.name)
            else:
                self._held.append((program.name, line))
        if program.closed:
            with suppress(KeyError):
                self._selector.unregister(program.output)

    def _forget(self, program: Program) -> None:
        program.kill()
        self._print_output(program)
        with suppress(KeyError):
            self._selector.unregister(program.output)
        program.close()
        del self._programs[program]

    def _on_stop_signal(self, number: int, frame: FrameType | None) -> None:
        self._stop_requests += 1
