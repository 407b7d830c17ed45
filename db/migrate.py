"""Bring the database's schema up to date. Any number of processes may ask at once; one of them does it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

_SCRIPTS = Path(__file__).parent / "migrations"
# Any number, as long as nothing else in this database locks the same one.
_ADVISORY_LOCK = 7_205_759_403


def migrate(engine: Engine, *, revision: str = "head") -> None:
    """Upgrade (or, to an older revision, downgrade) the schema of `engine`'s database."""
    with _alone(engine) as connection:
        config = alembic_config()
        config.attributes["connection"] = connection
        if revision == "base":
            command.downgrade(config, revision)
        else:
            command.upgrade(config, revision)


def is_current(engine: Engine) -> bool:
    """Whether the schema is the one that this code was written for."""
    with engine.connect() as connection:
        current = MigrationContext.configure(connection).get_current_heads()
    return set(current) == set(ScriptDirectory.from_config(alembic_config()).get_heads())


def alembic_config() -> Config:
    """Alembic's configuration, without an ini file to find."""
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    return config


@contextmanager
def _alone(engine: Engine) -> Iterator[Connection]:
    """A connection in a transaction, while no other process migrates this database."""
    if engine.dialect.name == "sqlite":
        with Path(f"{engine.url.database}.migrating").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with engine.begin() as connection:
                yield connection
        return
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
        yield connection
