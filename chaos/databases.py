"""The database of one run, and how it goes away for a while."""

import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import psycopg
from psycopg import sql
from sqlalchemy import make_url


class Database(Protocol):
    """What a run needs of its database."""

    url: str

    def go_away(self, seconds: float) -> None:
        """Be unavailable for so long."""


class Sqlite:
    """A file. It is away while another process holds its lock."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "app.db"
        self.url = f"sqlite:///{self._path}"

    def go_away(self, seconds: float) -> None:
        """Hold the only write lock there is."""
        connection = sqlite3.connect(self._path, timeout=30, isolation_level=None)
        try:
            connection.execute("BEGIN EXCLUSIVE")
            time.sleep(seconds)
            connection.execute("ROLLBACK")
        finally:
            connection.close()


class Postgresql:
    """A database of its own on a server that others use as well, so the server itself is not restarted."""

    def __init__(self, server: str, name: str) -> None:
        self._server, self._name = server, name
        mine = make_url(server).set(drivername="postgresql", database=name)
        self.url = mine.render_as_string(hide_password=False)

    def go_away(self, seconds: float) -> None:
        """End every connection to it and refuse new ones, as a restart does."""
        self._allow(False)
        try:
            self._administer(
                sql.SQL("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {}").format(
                    sql.Literal(self._name)
                )
            )
            time.sleep(seconds)
        finally:
            self._allow(True)

    def create(self) -> None:
        """Make it."""
        self._administer(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self._name)))

    def drop(self) -> None:
        """Remove it, whoever is connected."""
        self._administer(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(self._name)))

    def _allow(self, allowed: bool) -> None:
        self._administer(
            sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}").format(
                sql.Identifier(self._name), sql.Literal(allowed)
            )
        )

    def _administer(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._server, autocommit=True, connect_timeout=5) as connection:
            connection.execute(statement)


@contextmanager
def own_database(kind: str, folder: Path, postgresql_url: str) -> Iterator[Database]:
    """An empty database of this run alone, gone afterwards (SQLite's goes with the folder)."""
    if kind == "sqlite":
        yield Sqlite(folder)
        return
    database = Postgresql(postgresql_url, f"chaos_{secrets.token_hex(6)}")
    database.create()
    try:
        yield database
    finally:
        database.drop()
