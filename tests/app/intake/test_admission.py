"""A full queue refuses new work, the less urgent first, and stores nothing of it."""

import io
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

from config.settings import Settings
from db import ledger
from db.engine import reading, transaction
from db.ledger.tables import jobs as jobs_table
from db.models import EmailDelivery, IdempotencyKey, Job
from db.types import now
from tasks.canary import CanaryRef, sing
from tests.app.test_operations import figure
from tests.support.databases import on_both_databases
from tests.support.ledger import add_job
from tests.support.web import Client

Headers = dict[str, str]
MAIL = {"template": "welcome", "to": {"email": "ada@example.test"}, "context": {"name": "Ada"}}


@pytest.fixture(autouse=True)
def _small_queues(configure: Callable[..., Settings], database: str) -> None:
    configure(QUEUE_MAX_DEPTH=4, QUEUE_MAX_AGE_SECONDS=600)


def count(model: Any) -> int:
    with reading() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


def fill(depth: int, queue: str = "email") -> None:
    for _ in range(depth):
        add_job(queue=queue)


@on_both_databases
@pytest.mark.parametrize(
    ("depth", "accepted"),
    [
        (1, {"low", "normal", "high"}),
        (2, {"normal", "high"}),
        (3, {"normal", "high"}),
        (4, {"high"}),
        (5, {"high"}),
        (6, set()),
    ],
)
def test_low_is_refused_at_half_of_the_limit_and_high_at_one_and_a_half(
    client: Client, token: Callable[..., Headers], depth: int, accepted: set[str]
) -> None:
    fill(depth)
    headers = token()
    answers = {
        priority: client.post("/api/v1/emails", json=MAIL | {"priority": priority}, headers=headers)
        for priority in ("low", "normal", "high")
    }
    assert {priority for priority, answer in answers.items() if answer.status_code == 202} == accepted
    for priority in {"low", "normal", "high"} - accepted:
        answer = answers[priority]
        assert (answer.status_code, answer.json["code"]) == (503, "queue_full")
        assert answer.content_type == "application/problem+json"
        assert int(answer.headers["Retry-After"]) > 0


def test_a_message_that_has_waited_too_long_closes_the_door_as_well(
    client: Client, token: Callable[..., Headers]
) -> None:
    job_id = add_job(queue="email")
    with transaction() as connection:
        ledger.mark_published(connection, [job_id])
        connection.execute(update(jobs_table).values(published_at=now(-timedelta(minutes=11))))
    headers = token()
    assert client.post("/api/v1/emails", json=MAIL, headers=headers).status_code == 503
    assert client.post("/api/v1/emails", json=MAIL | {"priority": "high"}, headers=headers).status_code == 202


@on_both_databases
def test_nothing_is_stored_of_what_is_refused(
    client: Client, token: Callable[..., Headers], stored: Callable[[], list[Path]]
) -> None:
    fill(4)
    fill(4, "ai")
    headers = token() | {"Idempotency-Key": "order-1"}
    assert client.post("/api/v1/emails", json=MAIL, headers=headers).status_code == 503
    data = {"analysis": "summary", "files": [(io.BytesIO(b"text"), "a.txt")]}
    assert client.post("/api/v1/documents", data=data, headers=token()).status_code == 503
    assert (count(Job), count(EmailDelivery), count(IdempotencyKey), stored()) == (8, 0, 0, [])


def test_a_repeat_of_what_was_accepted_is_answered_however_full_the_queue_is(
    client: Client, token: Callable[..., Headers]
) -> None:
    fill(3)
    headers = token() | {"Idempotency-Key": "order-1"}
    first = client.post("/api/v1/emails", json=MAIL, headers=headers)
    fill(3)
    again = client.post("/api/v1/emails", json=MAIL, headers=headers)
    assert (again.status_code, again.json["job"]["id"]) == (202, first.json["job"]["id"])


def test_other_queues_and_the_systems_own_jobs_are_not_refused(
    client: Client, token: Callable[..., Headers]
) -> None:
    fill(10)
    data = {"analysis": "summary", "files": [(io.BytesIO(b"text"), "a.txt")]}
    assert client.post("/api/v1/documents", data=data, headers=token()).status_code == 202
    sing.delay(CanaryRef(queue="email"))
    assert count(Job) == 12


def test_a_form_comes_back_with_what_was_typed(client: Client) -> None:
    fill(4)
    page = client.get("/").text
    hidden = page.split('name="csrf_token" ')[1].split('value="')[1].split('"')[0]
    typed = {"name": "Ada", "email": "ada@example.test", "subject": "Hello", "message": "Good morning."}
    answer = client.post("/contact", data={**typed, "csrf_token": hidden})
    assert (answer.status_code, "Retry-After" in answer.headers) == (503, True)
    assert "Too much of this kind is waiting" in answer.text
    assert "Good morning." in answer.text


def test_limits_and_refusals_are_figures(client: Client, token: Callable[..., Headers]) -> None:
    fill(4)
    headers = token()
    for _ in range(3):
        client.post("/api/v1/emails", json=MAIL, headers=headers)
    text = client.get("/metrics").text
    assert figure(text, "queue_depth", queue="email") == 4
    assert figure(text, "queue_depth_limit", queue="email") == 4
    assert figure(text, "queue_age_limit_seconds", queue="email") == 600
    assert figure(text, "submissions_refused_total", queue="email", priority="normal") == 3
    assert figure(text, "submissions_refused_total", queue="email", priority="high") == 0


def test_a_password_reset_has_high_priority_of_itself(
    client: Client, token: Callable[..., Headers], jobs: Callable[[], list[Job]]
) -> None:
    context = {"name": "Ada", "reset_url": "https://example.test/r"}
    reset = {"template": "password_reset", "to": {"email": "ada@example.test"}, "context": context}
    headers = token()
    client.post("/api/v1/emails", json=reset, headers=headers)
    client.post("/api/v1/emails", json=reset | {"priority": "low"}, headers=headers)
    assert [job.priority for job in jobs()] == ["high", "low"]
