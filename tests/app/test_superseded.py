"""Operators are told which newer job has the key of the dead one they want to replay."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
from flask import Flask

from tests.support.console import PASSWORD, USERNAME, Console
from tests.support.databases import on_both_databases
from tests.support.web import Client

Headers = dict[str, str]
MAIL = {"template": "welcome", "to": {"email": "ada@example.test"}, "context": {"name": "Ada"}}


class Superseded(NamedTuple):
    """A dead job's letter, and the job that the same Idempotency-Key made afterwards."""

    letter_id: str
    newer_job_id: str


@pytest.fixture
def superseded(client: Client, token: Callable[..., Headers], bury: Callable[..., str]) -> Superseded:
    headers = token() | {"Idempotency-Key": "welcome-ada"}

    def ask() -> str:
        return str(client.post("/api/v1/emails", json=MAIL, headers=headers).json["job"]["id"])

    letter_id = bury(ask(), "permanent")
    return Superseded(letter_id, ask())


@on_both_databases
def test_the_api_refuses_the_replay_and_names_the_newer_job(
    client: Client, token: Callable[..., Headers], superseded: Superseded
) -> None:
    address, headers = f"/api/v1/dead-letters/{superseded.letter_id}", token("operate")
    refused = client.post(f"{address}/replay", headers=headers)
    assert (refused.status_code, refused.content_type) == (409, "application/problem+json")
    assert f"superseded by job {superseded.newer_job_id}" in refused.json["detail"]
    assert client.get(address, headers=headers).json["resolution"] == "superseded"


@on_both_databases
def test_the_command_refuses_the_replay_and_names_the_newer_job(app: Flask, superseded: Superseded) -> None:
    told = app.test_cli_runner().invoke(args=["dead-letters", "replay", superseded.letter_id])
    assert told.exit_code == 1
    assert f"superseded by job {superseded.newer_job_id}" in told.output


@on_both_databases
def test_the_console_refuses_the_replay_and_names_the_newer_job(
    app: Flask, configure: Callable[..., object], superseded: Superseded
) -> None:
    configure(CONSOLE_USERNAME=USERNAME, CONSOLE_PASSWORD=PASSWORD)
    app.test_client_class = Console
    console = app.test_client()
    assert isinstance(console, Console)
    console.sign_in()
    refused = console.act(f"/console/dead-letters/{superseded.letter_id}/replay")
    assert refused.status_code == 409
    assert f"superseded by job {superseded.newer_job_id}" in refused.text
