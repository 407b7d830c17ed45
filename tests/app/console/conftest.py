"""An operator's browser.

`console`    a client that is signed in to the console; `console.act(path, field=value, …)` posts a form with its token.
`letters`    a callable: `letters(3)` makes as many dead letters of one kind; returns (job id, letter id) pairs.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

import tests.support.jobs  # noqa: F401  # the letters' jobs are of a type that it declares
from tests.support.console import PASSWORD, USERNAME, Console
from tests.support.ledger import bury_job


@pytest.fixture
def credentials(database: str, configure: Callable[..., object]) -> None:
    """The console's login, on the test's database."""
    configure(CONSOLE_USERNAME=USERNAME, CONSOLE_PASSWORD=PASSWORD)


@pytest.fixture
def stranger(credentials: None, app: Flask) -> Console:
    """Nobody so far."""
    app.test_client_class = Console
    client = app.test_client()
    assert isinstance(client, Console)
    return client


@pytest.fixture
def console(stranger: Console) -> Console:
    """Signed in."""
    assert stranger.sign_in().status_code == 303
    return stranger


@pytest.fixture
def letters(database: str, tmp_path: Path) -> Callable[..., list[tuple[str, str]]]:
    """Jobs that died alike. Replayed, they succeed; with `act="refuse"` they die again."""

    def make(count: int = 1, *, reason: str = "permanent", act: str = "succeed") -> list[tuple[str, str]]:
        payload = {"record": str(tmp_path / "record"), "act": act, "seconds": 0, "failures": 0}
        return [bury_job(reason=reason, payload=payload) for _ in range(count)]

    return make
