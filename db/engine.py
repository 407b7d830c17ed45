"""Engines, built on first use and never shared over a fork.

Two kinds of commit. *Durable* ones survive a power cut and are the default. *Relaxed* ones may be lost
with the last milliseconds before one; they are for facts whose loss cannot repeat an effect: a claim,
a lease, a progress figure. Losing one only means that the job is looked at again.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.orm import Session

from config.settings import get_settings

# A writer waits this long for SQLite's single write lock; our transactions last milliseconds.
_SQLITE_BUSY_MS = 20_000
# Half-open connections are noticed within this time, so that a dead database cannot hang a request.
_POSTGRESQL_TIMEOUTS = {
    "connect_timeout": 2,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}


def get_engine(*, durable: bool = True) -> Engine:
    """The engine of this process for `DATABASE_URL`."""
    return _engine(get_settings().database_url, durable)


def build_engine(url: str, *, durable: bool = True) -> Engine:
    """A new engine with this project's transaction rules; the caller disposes of it."""
    if make_url(url).get_backend_name() == "sqlite":
        return _build_sqlite(url, durable)
    options = "" if durable else "-c synchronous_commit=off"
    return create_engine(
        url,
        pool_size=5,
        max_overflow=5,
        pool_timeout=5,
        pool_pre_ping=True,
        skip_autocommit_rollback=True,
        connect_args={**_POSTGRESQL_TIMEOUTS, "options": options},
    )


@contextmanager
def transaction(*, durable: bool = True) -> Iterator[Connection]:
    """One transaction: committed at the end, rolled back on any error."""
    with get_engine(durable=durable).begin() as connection:
        yield connection


@contextmanager
def autocommit(*, durable: bool = True) -> Iterator[Connection]:
    """A connection on which each statement is its own transaction: a third cheaper than BEGIN … COMMIT."""
    with _autocommit_engine(get_settings().database_url, durable).connect() as connection:
        yield connection


@contextmanager
def reading() -> Iterator[Session]:
    """A session for reading, which takes no write lock on SQLite."""
    engine = _autocommit_engine(get_settings().database_url, True)
    with Session(engine, autoflush=False, expire_on_commit=False) as session:
        yield session


@cache
def _engine(url: str, durable: bool) -> Engine:
    return build_engine(url, durable=durable)


@cache
def _autocommit_engine(url: str, durable: bool) -> Engine:
    return _engine(url, durable).execution_options(isolation_level="AUTOCOMMIT")


def dispose() -> None:
    """Close every pooled connection of this process."""
    for durable in (True, False):
        _engine(get_settings().database_url, durable).dispose()
    _forget_engines()


def _forget_engines() -> None:
    _engine.cache_clear()
    _autocommit_engine.cache_clear()


# The parent's sockets stay the parent's: a child starts with no engine and builds its own.
os.register_at_fork(after_in_child=_forget_engines)


def _build_sqlite(url: str, durable: bool) -> Engine:
    database = make_url(url).database
    if database and database != ":memory:":
        Path(database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url, connect_args={"timeout": _SQLITE_BUSY_MS / 1000})

    @event.listens_for(engine, "connect")
    def _on_connect(connection: Any, _record: Any) -> None:
        # The driver's own BEGIN is deferred; ours below is not.
        connection.isolation_level = None
        for pragma in (
            "journal_mode = WAL",
            f"synchronous = {'FULL' if durable else 'NORMAL'}",
            "foreign_keys = ON",
            "cache_size = -16000",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        # A transaction that reads first and writes later fails at once with "database is locked" when another
        # writer came between, whatever the timeout. Taking the write lock at the start waits instead.
        if connection.get_execution_options().get("isolation_level") != "AUTOCOMMIT":
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
