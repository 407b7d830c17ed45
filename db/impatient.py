"""A PostgreSQL connection for somebody who waits: it gives up on a server that has stopped answering."""

from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

T = TypeVar("T")

# A statement that merely takes long (it waits for a lock) is ended by the server first, which keeps the connection.
STATEMENT_S = 5.0
_SILENCE_S = STATEMENT_S + 1


class ImpatientConnection(psycopg.Connection[Any]):
    """Waits six seconds for each answer. No timeout of the network notices a frozen server: its kernel still
    acknowledges what we send."""

    def wait(self, gen: PQGen[T], *args: Any, **named: Any) -> T:
        """As psycopg's own. Raises OperationalError after six seconds, and the connection is closed then."""
        try:
            return super().wait(gen, *args, **{"timeout": _SILENCE_S, **named})
        except psycopg.errors._WaitTimeout:
            # What the answer would belong to is unknown from here on, so nobody must use it again.
            self.close()
            raise
