"""Whether the database and the broker answer and take writes, found out by using them, and what stands still."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswerYet
from typing import Generic, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from app.operations.canaries import stalled
from db.engine import reading_engine, takes_writes
from db.migrate import is_current
from tasks.engine import broker
from tasks.engine.publisher import BrokerUnavailable

T = TypeVar("T")

_WITHIN_S = 1.0


class Probe(Generic[T]):
    """Asks in a thread of its own, so that something that hangs cannot hang who wants to know.

    While an answer is outstanding nobody asks again: one thread at most, however long the outage.
    """

    def __init__(self, ask: Callable[[], T]) -> None:
        """`ask` returns the answer."""
        self._ask = ask
        self._lock = threading.Lock()
        self._pending: Future[T] | None = None

    def begin(self) -> "Future[T]":
        """Ask, unless the last answer is outstanding; returns what will hold the answer."""
        with self._lock:
            if self._pending is None or self._pending.done():
                self._pending = Future()
                threading.Thread(target=self._run, args=(self._pending,), daemon=True).start()
            return self._pending

    def _run(self, pending: "Future[T]") -> None:
        try:
            pending.set_result(self._ask())
        except Exception as error:  # noqa: BLE001  # whoever waits for the answer gets the error
            pending.set_exception(error)


def _database() -> str | None:
    try:
        if not is_current(reading_engine()):
            return "is not migrated: run `flask migrate`"
    except SQLAlchemyError:
        return "cannot be reached"
    try:
        return None if takes_writes() else "refuses writes"
    except SQLAlchemyError:
        return "refuses writes"


def _broker() -> str | None:
    try:
        broker.ping(_WITHIN_S)
    except broker.BrokerRefuses:
        return "refuses writes"
    except BrokerUnavailable:
        return "cannot be reached"
    return None


def _stalled() -> dict[str, str]:
    try:
        return stalled()
    except SQLAlchemyError:
        # The database's own probe tells that.
        return {}


_PROBES = {"database": Probe(_database), "broker": Probe(_broker)}
_STALLED = Probe(_stalled)


def readiness() -> tuple[dict[str, str], dict[str, str]]:
    """What is missing, and what stands still, each with the reason; takes a second at most.

    Work is accepted safely while nothing is missing. What stands still delays it, and taking the web away would
    not help.
    """
    by = time.monotonic() + _WITHIN_S
    standing = _STALLED.begin()
    asked = {name: probe.begin() for name, probe in _PROBES.items()}
    faults = {name: answer(pending, by, otherwise="does not answer") for name, pending in asked.items()}
    missing = {name: fault for name, fault in faults.items() if fault is not None}
    return missing, answer(standing, by, otherwise={})


def answer(pending: "Future[T]", by: float, *, otherwise: T) -> T:
    """The probe's answer, or `otherwise` if there is none at that moment of the monotonic clock."""
    try:
        return pending.result(timeout=max(0.0, by - time.monotonic()))
    except NoAnswerYet:
        return otherwise
