"""`database` as elsewhere, except that on PostgreSQL these many small tests share one, emptied before each."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from config.settings import Settings
from db.models import Base
from db.types import new_id
from tests.support.databases import POSTGRES_URL

Configure = Callable[..., Settings]


@pytest.fixture
def database(
    request: pytest.FixtureRequest, configure: Configure, tmp_path: Path, sqlite_template: Path
) -> str:
    """A migrated, empty database; returns its URL."""
    if request.param == "sqlite":
        shutil.copyfile(sqlite_template, tmp_path / "app.db")
        return configure().database_url
    url = request.getfixturevalue("shared_postgresql")
    tables = sql.SQL(", ").join(map(sql.Identifier, Base.metadata.tables))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("TRUNCATE {}").format(tables))
    return configure(DATABASE_URL=url).database_url


@pytest.fixture(scope="session")
def shared_postgresql(postgresql_template: str) -> Iterator[str]:
    """A database of this test process."""
    name = f"ledger_{new_id().replace('-', '')}"
    url = make_url(POSTGRES_URL)
    with psycopg.connect(POSTGRES_URL, autocommit=True) as server:
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        server.execute(create.format(sql.Identifier(name), sql.Identifier(postgresql_template)))
        yield url.set(database=name).render_as_string(hide_password=False)
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
