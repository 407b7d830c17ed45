"""Whether the database and the broker answer, found out by using them."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswerYet

from sqlalchemy.exc import SQLAlchemyError

from db.engine import reading_engine
from db.migrate import is_current
from tasks.engine import broker
from tasks.engine.publisher import BrokerUnavailable

_WITHIN_S = 1.0


class Probe:
    """Asks in a thread of its own, so that something that hangs cannot hang who wants to know.

    While an answer is outstanding nobody asks again: one thread at most, however long the outage.
    """

    def __init__(self, ask: Callable[[], str | None]) -> None:
        """`ask` returns what is wrong, or None."""
        self._ask = ask
        self._lock = threading.Lock()
        self._pending: Future[str | None] | None = None

    def fault(self) -> str | None:
        """What is wrong, or None; takes a second at most."""
        with self._lock:
            if self._pending is None or self._pending.done():
                self._pending = Future()
                threading.Thread(target=self._run, args=(self._pending,), daemon=True).start()
            pending = self._pending
        try:
            return pending.result(timeout=_WITHIN_S)
        except NoAnswerYet:
            return "does not answer"

    def _run(self, pending: "Future[str | None]") -> None:
        try:
            pending.set_result(self._ask())
        except Exception as error:  # noqa: BLE001  # whoever waits for the answer gets the error
            pending.set_exception(error)


def _database() -> str | None:
    try:
        # Reading only: a transaction would queue for SQLite's write lock.
        current = is_current(reading_engine())
    except SQLAlchemyError:
        return "cannot be reached"
    return None if current else "is not migrated: run `flask migrate`"


def _broker() -> str | None:
    try:
        broker.ping(_WITHIN_S)
    except BrokerUnavailable:
        return "cannot be reached"
    return None


_PROBES = {"database": Probe(_database), "broker": Probe(_broker)}


def missing() -> dict[str, str]:
    """What is not as it must be, and why; empty when all is well."""
    faults = {name: probe.fault() for name, probe in _PROBES.items()}
    return {name: fault for name, fault in faults.items() if fault is not None}
