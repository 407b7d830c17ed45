"""A database that hangs costs a request seconds, and never a thread for good."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from app import create_app
from config.settings import Settings
from db.engine import autocommit, hurry
from tests.support.databases import Proxy
from tests.support.processes import eventually
from tests.support.web import Client

Headers = dict[str, str]
MAIL = {"template": "welcome", "to": {"email": "ada@example.test"}, "context": {"name": "Ada"}}
on_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
# Far below what a worker waits, and far above what these take.
quick = pytest.mark.timeout(18)


@pytest.fixture
def frozen(database: str, configure: Callable[..., Settings]) -> Iterator[Proxy]:
    """What freezes this test's PostgreSQL."""
    proxy = Proxy()
    configure(DATABASE_URL=proxy.before(database))
    yield proxy
    proxy.close()


@quick
@on_postgresql
def test_a_submission_to_a_frozen_database_is_503_and_the_next_one_is_taken(
    frozen: Proxy, token: Callable[..., Headers]
) -> None:
    client, headers = Client(create_app()), token()
    assert client.post("/api/v1/emails", json=MAIL, headers=headers).status_code == 202
    frozen.freeze()
    refused = client.post("/api/v1/emails", json=MAIL, headers=headers)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    frozen.thaw()
    assert client.post("/api/v1/emails", json=MAIL, headers=headers).status_code == 202


@quick
@on_postgresql
def test_a_frozen_database_is_not_ready_and_recovers(frozen: Proxy) -> None:
    client = Client(create_app())
    assert "database" not in client.get("/readyz").json["missing"]
    frozen.freeze()
    answers = [client.get("/readyz") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [503] * 3
    assert {answer.json["missing"]["database"] for answer in answers} == {"does not answer"}
    assert client.get("/healthz").status_code == 200
    frozen.thaw()
    eventually(lambda: "database" not in client.get("/readyz").json["missing"])


@quick
@on_postgresql
def test_a_statement_that_waits_for_a_lock_is_ended_by_the_server(database: str) -> None:
    hurry()
    with autocommit() as holder, autocommit() as waiter:
        holder.execute(text("SELECT pg_advisory_lock(1)"))
        with pytest.raises(OperationalError, match="statement timeout"):
            waiter.execute(text("SELECT pg_advisory_lock(1)"))
        assert waiter.execute(text("SELECT 1")).scalar_one() == 1


@quick
def test_a_submission_while_sqlite_is_locked_is_503_and_not_ready(
    tmp_path: Path, client: Client, token: Callable[..., Headers]
) -> None:
    headers = token()
    with closing(sqlite3.connect(tmp_path / "app.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert client.post("/api/v1/emails", json=MAIL, headers=headers).status_code == 503
        assert client.get("/readyz").json["missing"]["database"] == "does not answer"
        other.execute("ROLLBACK")
    assert client.post("/api/v1/emails", json=MAIL, headers=headers).status_code == 202
    eventually(lambda: "database" not in client.get("/readyz").json["missing"])


@on_postgresql
def test_a_database_that_refuses_writes_is_not_ready(database: str, client: Client) -> None:
    with autocommit() as connection:
        name = connection.execute(text("SELECT current_database()")).scalar_one()
        connection.execute(text(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on'))
    assert client.get("/readyz").json["missing"]["database"] == "refuses writes"
