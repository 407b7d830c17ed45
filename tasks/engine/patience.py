"""Waiting for a database that is away. Workers hold their job and ask again; nothing is lost meanwhile."""

import time
from collections.abc import Callable
from typing import TypeVar

import structlog
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

log = structlog.get_logger()

T = TypeVar("T")

_FIRST_WAIT_S = 0.2
_LONGEST_WAIT_S = 5.0


def database_is_away(error: Exception) -> bool:
    """Whether the error says that the database cannot be reached, rather than that the statement is wrong."""
    return isinstance(error, (OperationalError, PoolTimeout)) or (
        isinstance(error, DBAPIError) and error.connection_invalidated
    )


def until_database_answers(ask: Callable[[], T]) -> T:
    """Call `ask` until the database answers. The job's time limits bound the wait.

    `ask` must be safe to repeat: its commit may have happened although the answer was lost.
    """
    wait = _FIRST_WAIT_S
    while True:
        try:
            return ask()
        except (OperationalError, PoolTimeout, DBAPIError) as error:
            if not database_is_away(error):
                raise
            log.warning("database.away", wait_s=wait, error=type(error).__name__)
        time.sleep(wait)
        wait = min(wait * 2, _LONGEST_WAIT_S)
