"""The application under test.

`app`        create_app() over the `database` of this test (parametrise `database` to change it).
`client`     its test client.
`token`      a callable: `token("submit", "operate")` gives the headers of a new token with these scopes.
`jobs`       a callable: every row of the jobs table, oldest first.
`stored`     a callable: the paths of all files in storage.
`picture`    the bytes of a small PNG.
`finish`     a callable: `finish(job_id, result)` lets a job succeed, through the ledger.
`bury`       a callable: `bury(job_id, reason="permanent")` makes a job a dead letter and returns the letter's id.
`server`     the application under gunicorn, on a port of its own; returns its base URL.
"""

import io
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from PIL import Image
from sqlalchemy import select

from app import create_app
from app.security import make_token
from config.settings import ROOT, get_settings
from db import ledger
from db.engine import reading, transaction
from db.models import ApiToken, Job
from db.types import new_id
from tests.support.web import Client, answers

Headers = dict[str, str]


@pytest.fixture
def app(database: str) -> Flask:
    """The application, on this test's database."""
    app = create_app()
    app.testing = False  # errors become answers, as in production
    app.test_client_class = Client
    return app


@pytest.fixture
def client(app: Flask) -> Client:
    """A browser or a program, without cookies so far."""
    return Client(app)


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


@pytest.fixture(scope="session")
def picture() -> bytes:
    """40 by 30 pixels, red."""
    target = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(target, "PNG")
    return target.getvalue()


@pytest.fixture
def finish(database: str) -> Callable[..., None]:
    """Let a job succeed."""

    def succeed(job_id: str, result: dict[str, Any] | None = None) -> None:
        start = _claim(job_id)
        with transaction() as connection:
            ledger.finish(connection, start, result)

    return succeed


@pytest.fixture
def bury(database: str) -> Callable[..., str]:
    """Make a job a dead letter."""

    def die(job_id: str, reason: str = "permanent") -> str:
        start = _claim(job_id)
        code = "outcome_unknown" if reason == "outcome_unknown" else "address_rejected"
        failure = ledger.Failure("failed", code, "The server refused the recipient.", "Traceback")
        letter = ledger.Letter(
            job_id, start.type, "email", "support", reason, failure.code, failure.message, "Traceback"
        )
        with transaction() as connection:
            return ledger.bury(connection, start, failure, letter)

    return die


@pytest.fixture
def server(database: str, configure: Callable[..., object], request: pytest.FixtureRequest) -> Iterator[str]:
    """gunicorn as the Procfile starts it, with two processes, or as many as an indirect parameter says."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    configure(PORT=port, WEB_CONCURRENCY=getattr(request, "param", 2), LOG_LEVEL="WARNING")
    command = [sys.executable, "-m", "gunicorn", "--config", "config/gunicorn.py", "app:create_app()"]
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ)
    deadline = time.monotonic() + 30
    while not answers(port):
        assert process.poll() is None, "gunicorn ended"
        assert time.monotonic() < deadline, "gunicorn did not answer"
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(timeout=10)


def _claim(job_id: str) -> ledger.Start:
    with transaction() as connection:
        start = ledger.claim(connection, job_id, worker="test", lease=timedelta(minutes=1))
    assert start is not None
    return start
