"""What the database said a moment ago, for questions that every request or every message asks."""

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from config.settings import get_settings

A = TypeVar("A")


class Remembered(Generic[A]):
    """The answer of `ask`, asked anew by the first who wants to know after `seconds`; others get the one before.

    Needs no lock, so that a fork cannot leave one locked.
    """

    def __init__(self, ask: Callable[[], A], *, seconds: float) -> None:
        self._ask = ask
        self._seconds = seconds
        self._ask_at = 0.0
        # The database that gave the answer, and the answer.
        self._known: tuple[str, A] | None = None

    def get(self) -> A:
        """Raises what `ask` raises; the answer before that is then good for another while."""
        known, database = self._known, get_settings().database_url
        if known is None or known[0] != database or time.monotonic() >= self._ask_at:
            self._ask_at = time.monotonic() + self._seconds
            known = self._known = (database, self._ask())
        return known[1]

    def forget(self) -> None:
        """Ask anew next time: this process has just changed the answer."""
        self._ask_at = 0.0
