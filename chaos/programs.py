"""The processes of the system, and the one that starts them again whenever they end.

A supervisor of a production does the same: systemd, Kubernetes, a platform's process manager.
"""

import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.support.processes import Process

_LOOK_EVERY_S = 0.2
# What a killed parent leaves behind may work on for so long; then it goes the way of a container's processes.
_ORPHANS_S = 8.0
# Celery ends a worker whose pool is killed or frozen while it is starting.
_POOL_STRUCK = "Could not start worker processes"
_LAST_WORDS = 2_000

_WORKER = (
    "-m celery -A chaos.jobs worker --queues email,default,dead_letter,email_bulk,images,ai --concurrency 2 "
    "--without-gossip --without-mingle --without-heartbeat --hostname"
)


class Role:
    """A program that is to run all the time."""

    def __init__(self, name: str, command: Sequence[str], folder: Path) -> None:
        self.name = name
        self.starts = 0
        self._command = command
        self._log = folder / f"{name}.log"
        self.start()

    def start(self) -> None:
        """Start it, for the first time or again."""
        self.process = Process(self._command, self._log)
        self.starts += 1


class Programs:
    """Use as a context manager: leaving it ends everything that was ever started."""

    def __init__(self, folder: Path) -> None:
        self.web = [
            Role("web", ["-m", "gunicorn", "--config", "config/gunicorn.py", "app:create_app()"], folder)
        ]
        self.workers = [
            Role(f"worker{number}", [*_WORKER.split(), f"worker{number}@%h"], folder) for number in (1, 2)
        ]
        self.relays = [Role(f"relay{number}", ["-m", "chaos.relay"], folder) for number in (1, 2)]
        # Programs that ended although nobody killed them.
        self.gave_up: list[str] = []
        self._left: list[tuple[float, int]] = []
        self._groups: set[int] = set()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep_alive, name="supervisor", daemon=True)

    @property
    def restarts(self) -> int:
        """How often something had to be started again."""
        return sum(role.starts - 1 for role in self._roles())

    def __enter__(self) -> "Programs":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._groups |= {role.process.pid for role in self._roles()}
        for group in self._groups:
            _kill_group(group)
        for role in self._roles():
            role.process.kill()

    def _roles(self) -> list[Role]:
        return [*self.web, *self.workers, *self.relays]

    def _keep_alive(self) -> None:
        while not self._stopping.wait(_LOOK_EVERY_S):
            for role in self._roles():
                if not role.process.alive:
                    self._replace(role, role.process.ended())
            while self._left and self._left[0][0] < time.monotonic():
                _kill_group(self._left.pop(0)[1])

    def _replace(self, role: Role, returncode: int) -> None:
        if returncode != -signal.SIGKILL and _POOL_STRUCK not in role.process.log()[-_LAST_WORDS:]:
            self.gave_up.append(f"{role.name} ended by itself (exit code {returncode})")
        self._groups.add(role.process.pid)
        self._left.append((time.monotonic() + _ORPHANS_S, role.process.pid))
        role.start()


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
