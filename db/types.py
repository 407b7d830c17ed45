"""Column types and the database's own clock, written once for SQLite and PostgreSQL."""

from datetime import UTC, datetime, timedelta
from typing import Any

import uuid_utils
from sqlalchemy import CHAR, REAL, DateTime, Dialect, Uuid
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import expression
from sqlalchemy.types import TypeDecorator, TypeEngine


class Instant(TypeDecorator[datetime]):
    """A moment in UTC: `timestamptz` on PostgreSQL, Unix seconds on SQLite.

    SQLite has no time type, and text compares and adds badly; a number does both.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Unix seconds where there is no time type."""
        return REAL() if dialect.name == "sqlite" else DateTime(timezone=True)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Refuse a naive time: it would mean another moment on another machine."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("times need a time zone")
        return value.timestamp() if dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Always an aware datetime in UTC."""
        if value is None or isinstance(value, datetime):
            return value if value is None else value.astimezone(UTC)
        return datetime.fromtimestamp(value, UTC)


class now(expression.FunctionElement[datetime]):  # noqa: N801  # reads as the SQL function it is
    """The database's clock, so that two workers' clocks need not agree. `now(10)` is ten seconds ahead."""

    type = Instant()
    inherit_cache = True
    name = "now"

    def __init__(self, ahead: timedelta | float | expression.ColumnElement[float] = 0) -> None:
        seconds = ahead.total_seconds() if isinstance(ahead, timedelta) else ahead
        if isinstance(seconds, (int, float)):
            # Nothing to bind for plain `now()`: on the hot path each parameter costs microseconds.
            seconds = expression.literal(seconds) if seconds else expression.literal_column("0")
        super().__init__(seconds)


@compiles(now, "sqlite")
def _now_sqlite(element: now, compiler: Any, **options: Any) -> str:
    # unixepoch('subsec') would read better; it needs SQLite 3.42, and Debian 12 ships 3.40.
    return f"((julianday('now') - 2440587.5) * 86400.0 + {compiler.process(element.clauses, **options)})"


@compiles(now, "postgresql")
def _now_postgresql(element: now, compiler: Any, **options: Any) -> str:
    # Not PostgreSQL's now(): that is the transaction's start, which a slow transaction leaves behind. And not
    # clock_timestamp(): it may change between two rows, so no index could be searched by it.
    seconds = compiler.process(element.clauses, **options)
    return f"(statement_timestamp() + make_interval(secs => CAST({seconds} AS double precision)))"


# Text in Python: `uuid` on PostgreSQL; on SQLite the same text, which costs no conversion and reads well.
ID = Uuid(as_uuid=False).with_variant(CHAR(36), "sqlite")


def new_id() -> str:
    """A UUIDv7 (RFC 9562): sorts by time, so new rows land at the end of every index."""
    return str(uuid_utils.uuid7())
