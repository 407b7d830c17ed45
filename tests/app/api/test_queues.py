"""Queues by the API: for operators, and as described."""

from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from sqlalchemy import select

from app.api.openapi import document
from db.engine import reading
from db.models import AuditEntry, Job
from tests.support.databases import on_both_databases
from tests.support.web import Client

Headers = dict[str, str]
MAIL = {"template": "welcome", "to": {"email": "ada@example.test"}, "context": {"name": "Ada"}}


def conforms(value: object, schema: str) -> None:
    root = {"$ref": f"#/components/schemas/{schema}", "components": document()["components"]}
    jsonschema.Draft202012Validator(root, format_checker=jsonschema.FormatChecker()).validate(value)


def queue(client: Client, headers: Headers, name: str = "email") -> dict[str, Any]:
    found = client.get("/api/v1/queues", headers=headers).json["queues"]
    return next(queue for queue in found if queue["queue"] == name)


@on_both_databases
def test_a_queue_is_paused_and_resumed_and_both_are_recorded(
    client: Client, token: Callable[..., Headers]
) -> None:
    headers = token("operate")
    paused = client.post("/api/v1/queues/email/pause", headers=headers)
    assert paused.status_code == 200
    conforms(paused.json, "PausedOrResumed")
    assert paused.json["queue"]["paused_by"].startswith("token:")
    conforms(client.get("/api/v1/queues", headers=headers).json, "Queues")
    assert queue(client, headers)["paused_at"] == paused.json["queue"]["paused_at"]
    assert client.post("/api/v1/queues/email/pause", headers=headers).json == paused.json
    assert client.post("/api/v1/queues/email/resume", headers=headers).json["queue"]["paused_at"] is None
    assert queue(client, headers)["paused_by"] is None
    with reading() as session:
        actions = session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)).all()
    assert actions == ["queue.paused", "queue.resumed"]


def test_work_for_a_paused_queue_is_accepted_and_not_published(
    client: Client, token: Callable[..., Headers], broker: str, jobs: Callable[[], list[Job]]
) -> None:
    client.post("/api/v1/queues/email/pause", headers=token("operate"))
    assert client.post("/api/v1/emails", json=MAIL, headers=token()).status_code == 202
    (job,) = jobs()
    assert (job.state, job.published_at) == ("queued", None)
    assert queue(client, token("operate"))["broker_messages"] == 0


def test_only_operators_see_or_pause_queues(client: Client, token: Callable[..., Headers]) -> None:
    assert client.get("/api/v1/queues", headers=token()).status_code == 403
    assert client.post("/api/v1/queues/email/pause", headers=token()).status_code == 403
    assert client.post("/api/v1/queues/email/pause").status_code == 401


@pytest.mark.parametrize("move", ["pause", "resume"])
def test_an_unknown_queue_is_not_found(client: Client, token: Callable[..., Headers], move: str) -> None:
    assert client.post(f"/api/v1/queues/nothing/{move}", headers=token("operate")).status_code == 404
