"""The application under test.

`app`        create_app() over the `database` of this test (parametrise `database` to change it).
`client`     its test client.
`token`      a callable: `token("submit", "operate")` gives the headers of a new token with these scopes.
`jobs`       a callable: every row of the jobs table, oldest first.
`stored`     a callable: the paths of all files in storage.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from app import create_app
from app.security import make_token
from config.settings import get_settings
from db.engine import reading, transaction
from db.models import ApiToken, Job
from db.types import new_id

Headers = dict[str, str]


@pytest.fixture
def app(database: str) -> Flask:
    """The application, on this test's database."""
    app = create_app()
    app.testing = False  # errors become answers, as in production
    return app


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    """A browser or a program, without cookies so far."""
    return app.test_client()


@pytest.fixture
def token(database: str) -> Callable[..., Headers]:
    """Make tokens."""

    def make(*scopes: str) -> Headers:
        secret, sha256 = make_token()
        id_ = new_id()
        with transaction() as connection:
            connection.execute(
                ApiToken.__table__.insert().values(  # type: ignore[attr-defined]  # a Table, typed as FromClause
                    id=id_, name=f"test-{id_}", sha256=sha256, scopes=" ".join(scopes or ("submit",))
                )
            )
        return {"Authorization": f"Bearer {secret}"}

    return make


@pytest.fixture
def jobs(database: str) -> Callable[[], list[Job]]:
    """Read the jobs table."""

    def read() -> list[Job]:
        with reading() as session:
            return list(session.scalars(select(Job).order_by(Job.id)))

    return read


@pytest.fixture
def stored(database: str) -> Callable[[], list[Path]]:
    """Look into storage."""
    return lambda: sorted(path for path in Path(get_settings().storage_url).rglob("*") if path.is_file())
