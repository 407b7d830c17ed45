"""Batches by the API: complete when their last job is, and cancelled as a whole by who submitted them."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select

from db.engine import reading
from db.models import AuditEntry
from tests.app.api.test_openapi import conforms
from tests.support.databases import on_both_databases
from tests.support.web import Client

Headers = dict[str, str]


@pytest.fixture
def mine(token: Callable[..., Headers]) -> Headers:
    return token()


@pytest.fixture
def batch(client: Client, mine: Headers) -> Any:
    """Three documents."""
    files = [(io.BytesIO(b"text"), f"{name}.txt") for name in "abc"]
    return client.post("/api/v1/documents", data={"analysis": "summary", "files": files}, headers=mine).json


@on_both_databases
def test_it_is_completed_with_its_last_job(
    client: Client, mine: Headers, batch: Any, finish: Callable[..., None], bury: Callable[..., str]
) -> None:
    place, ids = batch["batch"]["links"]["self"], [job["id"] for job in batch["jobs"]]
    finish(ids[0])
    bury(ids[1])
    assert client.get(place, headers=mine).json["completed_at"] is None
    finish(ids[2])
    found = client.get(place, headers=mine).json
    conforms(found, "BatchWithJobs")
    assert found["completed_at"] == found["jobs"][2]["finished_at"]
    assert (found["done"], found["counts"]["dead"]) == (True, 1)
    assert "cancel" not in found["links"]


@on_both_databases
def test_cancelling_it_leaves_finished_jobs_as_they_are(
    client: Client, mine: Headers, batch: Any, finish: Callable[..., None]
) -> None:
    finish(batch["jobs"][0]["id"])
    cancelled = client.post(batch["batch"]["links"]["cancel"], headers=mine)
    assert cancelled.status_code == 200
    conforms(cancelled.json, "BatchWithJobs")
    assert (cancelled.json["counts"]["succeeded"], cancelled.json["counts"]["cancelled"]) == (1, 2)
    assert cancelled.json["completed_at"] is not None


def test_it_is_cancelled_by_its_submitter_or_an_operator_who_is_recorded(
    client: Client, mine: Headers, token: Callable[..., Headers], batch: Any
) -> None:
    place = batch["batch"]["links"]["cancel"]
    assert client.post(place, headers=token()).status_code == 404
    assert client.post(place, headers=mine).status_code == 200
    with reading() as session:
        assert session.scalar(select(func.count()).select_from(AuditEntry)) == 0
    assert client.post(place, headers=token("operate")).status_code == 200
    with reading() as session:
        (entry,) = session.scalars(select(AuditEntry))
    assert (entry.action, entry.target) == ("batch.cancelled", batch["batch"]["id"])
