"""Engines, built on first use and never shared over a fork.

Two kinds of commit. *Durable* ones survive a power cut and are the default. *Relaxed* ones may be lost
with the last milliseconds before one; they are for facts whose loss cannot repeat an effect: a claim,
a lease, a progress figure. Losing one only means that the job is looked at again.

Workers are patient with a database that is busy or away, because nobody waits for them. A process that answers
requests calls `hurry`, and its statements fail after some seconds.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, ExceptionContext, create_engine, event, make_url
from sqlalchemy.orm import Session

from config.settings import get_settings
from db.impatient import STATEMENT_S, ImpatientConnection


class Use(Enum):
    """What a connection is for; each use has its own pool, so none is reconfigured at every checkout."""

    TRANSACTIONS = auto()
    READING = auto()
    STATEMENTS = auto()
    RELAXED = auto()


# A writer waits this long for SQLite's single write lock; our transactions last milliseconds.
_SQLITE_BUSY_S = 20
# Half-open connections are noticed within this time, so that a dead database cannot hang a request.
_POSTGRESQL_TIMEOUTS = {
    "connect_timeout": 2,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}


def get_engine() -> Engine:
    """This process's engine for transactions on `DATABASE_URL`. Its commits are durable."""
    return _engine(get_settings().database_url, Use.TRANSACTIONS)


def reading_engine() -> Engine:
    """This process's engine for reading. It opens no transaction, so on SQLite it takes no write lock."""
    return _engine(get_settings().database_url, Use.READING)


def build_engine(url: str, use: Use = Use.TRANSACTIONS, *, hurried: bool = False) -> Engine:
    """A new engine with this project's rules for `use`; the caller disposes of it."""
    if make_url(url).get_backend_name() == "sqlite":
        return _build_sqlite(url, use, STATEMENT_S if hurried else _SQLITE_BUSY_S)
    return _build_postgresql(url, use, hurried)


def _build_postgresql(url: str, use: Use, hurried: bool) -> Engine:
    options = ["-c synchronous_commit=off"] if use is Use.RELAXED else []
    if hurried:
        options.append(f"-c statement_timeout={STATEMENT_S:g}s")
    engine = create_engine(
        url,
        pool_size=5,
        max_overflow=5,
        pool_timeout=5,
        # A worker repeats its statement when the connection turns out to be dead; a request should not have to.
        pool_pre_ping=use in (Use.TRANSACTIONS, Use.READING),
        skip_autocommit_rollback=True,
        # An error's text would quote the row: addresses, texts, names of files.
        hide_parameters=True,
        isolation_level="READ COMMITTED" if use is Use.TRANSACTIONS else "AUTOCOMMIT",
        connect_args={**_POSTGRESQL_TIMEOUTS, "options": " ".join(options)},
    )
    event.listen(engine, "handle_error", _give_up_what_was_interrupted)
    if hurried:

        @event.listens_for(engine, "do_connect")
        def _connect(_dialect: Any, _record: Any, words: list[Any], options: dict[str, Any]) -> Any:
            return ImpatientConnection.connect(*words, **options)

    return engine


def _give_up_what_was_interrupted(context: ExceptionContext) -> None:
    # An error that is not the driver's came from outside, as a time limit does that a signal's handler raises. The
    # statement may still be running; psycopg would refuse all later ones on this connection, and SQLAlchemy's pool
    # would keep it. Not on SQLite: SQLAlchemy would close the connection but keep the cursor, whose half-done statement
    # holds the lock.
    if not isinstance(context.original_exception, context.dialect.loaded_dbapi.Error):
        context.is_disconnect, context.invalidate_pool_on_disconnect = True, False


def hurry() -> None:
    """Let no statement of this process wait for longer than some seconds, from its next connections on."""
    global _hurried
    _hurried = True


def keep_connections() -> None:
    """Let `autocommit` keep one connection of each kind at hand.

    For a process that asks all the time: taking a connection from the pool and returning it costs about as much as a
    statement on SQLite. What is kept stays open until `dispose`, or until an error.
    """
    global _keeping
    _keeping = True


@contextmanager
def transaction() -> Iterator[Connection]:
    """One transaction: committed at the end, rolled back on any error."""
    with get_engine().begin() as connection:
        yield connection


def takes_writes() -> bool:
    """Whether a write would be taken now. On SQLite this waits for the write lock. Raises DBAPIError."""
    with transaction() as connection:
        # SQLite's transactions begin with the lock.
        return (
            connection.dialect.name == "sqlite"
            or connection.exec_driver_sql("SHOW transaction_read_only").scalar_one() == "off"
        )


@contextmanager
def autocommit(*, durable: bool = True) -> Iterator[Connection]:
    """A connection on which each statement is its own transaction: a third cheaper than BEGIN … COMMIT."""
    engine = _engine(get_settings().database_url, Use.STATEMENTS if durable else Use.RELAXED)
    # Out of the dict while in use, so that a nested block or another thread gets one of its own.
    connection = _kept.pop(engine, None) or engine.connect()
    try:
        yield connection
    except BaseException:
        # Its pool finds out whether it is still good.
        connection.close()
        raise
    if not _keeping or _kept.setdefault(engine, connection) is not connection:
        connection.close()


@contextmanager
def reading() -> Iterator[Session]:
    """A session for reading."""
    with Session(reading_engine(), autoflush=False, expire_on_commit=False) as session:
        yield session


_engines: dict[tuple[str, Use, bool], Engine] = {}
_hurried = False
_kept: dict[Engine, Connection] = {}
_keeping = False


def _engine(url: str, use: Use) -> Engine:
    key = (url, use, _hurried)
    engine = _engines.get(key)
    if engine is None:
        # Of two threads that come at once both use the same; the other one's has not connected to anything.
        engine = _engines.setdefault(key, build_engine(url, use, hurried=key[2]))
    return engine


def dispose() -> None:
    """Close every connection of this process, which is patient again and keeps none."""
    global _hurried, _keeping
    _hurried = _keeping = False
    for connection in _kept.values():
        connection.close()
    _kept.clear()
    for engine in _engines.values():
        engine.dispose()
    _engines.clear()


# The parent's sockets stay the parent's: a child starts with no engine and builds its own.
os.register_at_fork(after_in_child=_kept.clear)
os.register_at_fork(after_in_child=_engines.clear)


def _build_sqlite(url: str, use: Use, busy_s: float) -> Engine:
    database = make_url(url).database
    if database and database != ":memory:":
        Path(database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url, connect_args={"timeout": busy_s}, hide_parameters=True)

    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: Any) -> None:
        # The driver's own BEGIN is deferred; ours below is not.
        connection.isolation_level = None
        for pragma in (
            "journal_mode = WAL",
            f"synchronous = {'NORMAL' if use is Use.RELAXED else 'FULL'}",
            "foreign_keys = ON",
            "cache_size = -16000",
        ):
            connection.execute(f"PRAGMA {pragma}")

    if use is Use.TRANSACTIONS:

        @event.listens_for(engine, "begin")
        def _on_begin(connection: Connection) -> None:
            # A transaction that reads first and writes later fails at once with "database is locked" when another
            # writer came between, whatever the timeout. Taking the write lock at the start waits instead.
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
