"""Migrations: they make what the models say, on both databases, up and down, once however many ask."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect, text

from db.engine import build_engine
from db.migrate import is_current, migrate
from db.models import Base
from tests.support.databases import on_both_databases

ROOT = Path(__file__).resolve().parents[2]

pytestmark = on_both_databases


@pytest.fixture
def engine(database: str) -> Iterator[Engine]:
    engine = build_engine(database)
    yield engine
    engine.dispose()


def tables(engine: Engine) -> set[str]:
    return set(inspect(engine).get_table_names()) - {"alembic_version"}


def empty(engine: Engine) -> None:
    migrate(engine, revision="base")


def test_the_migrations_make_exactly_what_the_models_say(engine: Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, Base.metadata) == []
    assert tables(engine) == set(Base.metadata.tables)


def test_migrations_go_down_to_nothing_and_up_again(engine: Engine) -> None:
    empty(engine)
    assert tables(engine) == set()
    assert not is_current(engine)
    migrate(engine)
    assert tables(engine) == set(Base.metadata.tables)
    assert is_current(engine)


def test_a_downgrade_leaves_no_function_or_type_behind(engine: Engine) -> None:
    empty(engine)
    if engine.dialect.name == "postgresql":
        query = "SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        with engine.connect() as connection:
            assert connection.execute(text(query)).scalar_one() == 0


def test_migrating_twice_changes_nothing(engine: Engine) -> None:
    migrate(engine)
    assert is_current(engine)


def test_many_processes_may_migrate_at_once(engine: Engine) -> None:
    empty(engine)
    code = "from db.engine import get_engine; from db.migrate import migrate; migrate(get_engine())"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, env=dict(os.environ), stderr=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert is_current(engine)


def test_a_migration_that_fails_leaves_the_schema_as_it_was(engine: Engine) -> None:
    empty(engine)
    with engine.begin() as connection:
        # In the way of the last table of the first migration.
        connection.execute(text("CREATE TABLE analyses (id integer)"))
    with pytest.raises(Exception, match="analyses"):
        migrate(engine)
    assert tables(engine) == {"analyses"}
