"""Fixtures for every test that needs settings, a database or a broker. No service of this machine is used
unless a test asks for PostgreSQL.

`configure`      a callable: `configure(NAME=value, …)` sets variables and forgets everything built from the old
                 ones. It starts from a clean environment: SQLite, files and nothing else in `tmp_path`, a broker
                 and a mail server on a port where nobody listens.
`database`       a migrated SQLite database; returns its URL. `@on_both_databases` (tests.support.databases) runs a
                 test on SQLite and on PostgreSQL.
`broker`         a Valkey of this test process, emptied; returns its URL. Combine it with `database` as needed.
`settings`       the settings as configured so far.

PostgreSQL is found at TEST_POSTGRES_URL; every test gets a database of its own there, dropped afterwards.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
import redis
from sqlalchemy import make_url

from config.celery import celery_options
from config.settings import Settings, get_settings
from db import engine as engines
from db.migrate import migrate
from db.types import new_id
from dev.services import valkey_answers, valkey_command
from tasks.engine import publisher
from tasks.engine.celery import app as celery
from tests.support.databases import POSTGRES_URL

START_POSTGRES = "docker run -d -p 5432:5432 -e POSTGRES_HOST_AUTH_METHOD=trust postgres:17"
# Port 1 (tcpmux) is not listened on anywhere.
NOBODY = "127.0.0.1:1"

Configure = Callable[..., Settings]


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Configure]:
    """Set variables for this test alone; `configure()` without any gives the clean environment."""
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("ENV_FILE", "")

    def set_variables(**variables: object) -> Settings:
        _forget()
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))
        settings = get_settings()
        celery.conf.update(celery_options(settings))
        return settings

    set_variables(
        DATABASE_URL=f"sqlite:///{tmp_path / 'app.db'}",
        STORAGE_URL=tmp_path / "files",
        BROKER_URL=f"redis://{NOBODY}/0",
        SMTP_URL=f"smtp://{NOBODY}",
    )
    yield set_variables
    _forget()


@pytest.fixture
def settings(configure: Configure) -> Settings:
    """The settings of a clean environment."""
    return get_settings()


@pytest.fixture
def database(
    request: pytest.FixtureRequest, configure: Configure, tmp_path: Path, sqlite_template: Path
) -> Iterator[str]:
    """A migrated database: SQLite, or what an indirect parameter names."""
    if getattr(request, "param", "sqlite") == "sqlite":
        shutil.copyfile(sqlite_template, tmp_path / "app.db")
        yield configure().database_url
        return
    template = request.getfixturevalue("postgresql_template")
    name = f"test_{new_id().replace('-', '')}"
    _administer(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield configure(DATABASE_URL=_postgres_url(name)).database_url
    _forget()
    _administer(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def broker(configure: Configure, valkey: str) -> str:
    """An empty Valkey."""
    with redis.Redis.from_url(valkey) as client:
        client.flushall()
    configure(BROKER_URL=valkey)
    return valkey


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Valkey server of this test process, on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    server = subprocess.Popen(valkey_command(port, tmp_path_factory.mktemp("valkey")))
    deadline = time.monotonic() + 10
    while not valkey_answers(port):
        assert time.monotonic() < deadline, "Valkey did not start"
        time.sleep(0.02)
    yield f"redis://127.0.0.1:{port}/0"
    server.terminate()
    server.wait(timeout=10)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file to copy, because migrating takes longer than most tests."""
    path = tmp_path_factory.mktemp("template") / "app.db"
    engine = engines.build_engine(f"sqlite:///{path}")
    migrate(engine)
    engine.dispose()
    return path


@pytest.fixture(scope="session")
def postgresql_template() -> Iterator[str]:
    """The name of a migrated database to copy. Skips where there is no PostgreSQL; fails in CI."""
    name = f"template_{new_id().replace('-', '')}"
    try:
        _administer(f"CREATE DATABASE {name}")
    except psycopg.OperationalError:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"PostgreSQL is not reachable; start one with: {START_POSTGRES}")
    engine = engines.build_engine(_postgres_url(name))
    migrate(engine)
    engine.dispose()
    yield name
    _administer(f"DROP DATABASE {name} WITH (FORCE)")


def _administer(statement: LiteralString) -> None:
    with psycopg.connect(POSTGRES_URL, autocommit=True, connect_timeout=3) as connection:
        connection.execute(statement)


def _postgres_url(database: str) -> str:
    url = make_url(POSTGRES_URL).set(drivername="postgresql+psycopg", database=database)
    return url.render_as_string(hide_password=False)


def _forget() -> None:
    """Nothing that was built from the settings outlives them."""
    publisher.publisher().close()
    # A publisher that met a dead broker is quiet for a moment, which is not for the next test.
    vars(publisher._local).clear()
    if get_settings.cache_info().currsize:
        engines.dispose()
    get_settings.cache_clear()
