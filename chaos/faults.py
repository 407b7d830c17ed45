"""The faults, carried out."""

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import psutil

from chaos.brokers import Broker
from chaos.clients import Clients
from chaos.databases import Database
from chaos.plan import Fault, Strike
from chaos.programs import Programs, Role

T = TypeVar("T")

# As long as a lease, and then what the fault itself says.
_BEYOND_LEASE_S = 2.0
_REQUEST_COMES_S = 5.0


class Faults:
    """Strikes one after the other; freezes, pauses and outages last while the next ones strike."""

    def __init__(
        self, programs: Programs, broker: Broker, database: Database, clients: Clients, *, lease_s: float
    ) -> None:
        self._programs, self._broker, self._database, self._clients = programs, broker, database, clients
        self._lease_s = lease_s
        self._lasting: list[threading.Thread] = []
        self.struck: Counter[Strike] = Counter()
        self.copies = 0
        self._ways: dict[Strike, Callable[[Fault], None]] = {
            Strike.KILL_CHILD: self._kill_child,
            Strike.KILL_PARENT: lambda fault: self._worker(fault).process.send(signal.SIGKILL),
            Strike.KILL_WORKER: lambda fault: self._worker(fault).process.send_all(signal.SIGKILL),
            Strike.KILL_RELAY: self._kill_relay,
            Strike.KILL_WEB_PROCESS: self._kill_web_process,
            Strike.KILL_WEB: self._kill_web,
            Strike.FREEZE_WORKER: self._freeze_worker,
            Strike.FLUSH: lambda _fault: self._broker.flush(),
            Strike.RESTART_BROKER: lambda _fault: self._broker.restart(),
            Strike.PAUSE_BROKER: lambda fault: self._broker.pause(fault.seconds),
            Strike.DATABASE: lambda fault: self._meanwhile(lambda: self._database.go_away(fault.seconds)),
            Strike.TWICE: self._deliver_twice,
        }

    def strike(self, fault: Fault) -> None:
        """Carry it out; what lasts goes on in the background."""
        self._ways[fault.strike](fault)
        self.struck[fault.strike] += 1

    def end(self) -> None:
        """Wait for what lasts."""
        for thread in self._lasting:
            thread.join()

    def _worker(self, fault: Fault) -> Role:
        return _drawn(self._programs.workers, fault)

    def _kill_child(self, fault: Fault) -> None:
        # A worker that is just starting has no pool yet.
        children = [child for role in self._programs.workers for child in _children(role)]
        if children:
            _kill(_drawn(children, fault))

    def _kill_relay(self, fault: Fault) -> None:
        _drawn(self._programs.relays, fault).process.kill()

    def _kill_web_process(self, fault: Fault) -> None:
        self._await_request()
        children = [child for role in self._programs.web for child in _children(role)]
        if children:
            _kill(_drawn(children, fault))

    def _kill_web(self, _fault: Fault) -> None:
        self._await_request()
        self._programs.web[0].process.send_all(signal.SIGKILL)

    def _freeze_worker(self, fault: Fault) -> None:
        process = self._worker(fault).process

        def freeze() -> None:
            process.send_all(signal.SIGSTOP)
            time.sleep(self._lease_s + _BEYOND_LEASE_S + fault.seconds)
            process.send_all(signal.SIGCONT)

        self._meanwhile(freeze)

    def _deliver_twice(self, _fault: Fault) -> None:
        self.copies += self._broker.repeat()

    def _await_request(self) -> None:
        deadline = time.monotonic() + _REQUEST_COMES_S
        while not self._clients.open_requests and time.monotonic() < deadline:
            time.sleep(0.001)

    def _meanwhile(self, act: Callable[[], None]) -> None:
        thread = threading.Thread(target=act, daemon=True)
        thread.start()
        self._lasting.append(thread)


def _drawn(candidates: Sequence[T], fault: Fault) -> T:
    return candidates[int(fault.draw * len(candidates))]


def _children(role: Role) -> list[int]:
    try:
        return sorted(role.process.children())
    except psutil.NoSuchProcess:
        return []


def _kill(pid: int) -> None:
    with suppress(psutil.NoSuchProcess):
        psutil.Process(pid).kill()
