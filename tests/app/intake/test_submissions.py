"""One key, one submission, whoever asks at the same time."""

import io
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.intake.submissions import fingerprint
from db.models import Job
from tests.support.databases import on_both_databases
from tests.support.web import Client

Headers = dict[str, str]
MAIL = {"template": "welcome", "to": {"email": "ada@example.test"}, "context": {"name": "Ada"}}
BODY = b'{"template":"welcome","to":{"email":"ada@example.test"},"context":{"name":"Ada"}}'


@on_both_databases
def test_fifty_requests_at_once_with_one_key_make_one_job(
    token: Callable[..., Headers], jobs: Callable[[], list[Job]], server: str
) -> None:
    headers = {**token(), "Content-Type": "application/json", "Idempotency-Key": "once"}
    url, together = urlsplit(server), threading.Barrier(50)

    def post(_number: int) -> tuple[int, str | None]:
        connection = HTTPConnection(str(url.hostname), url.port, timeout=30)
        together.wait()
        connection.request("POST", "/api/v1/emails", body=BODY, headers=headers)
        response = connection.getresponse()
        answer = (response.status, response.headers["Location"])
        connection.close()
        return answer

    with ThreadPoolExecutor(50) as pool:
        answers = set(pool.map(post, range(50)))
    (job,) = jobs()
    assert answers == {(202, f"/api/v1/jobs/{job.id}")}


def test_a_repeat_is_answered_with_the_same_job_and_says_so(
    client: Client, token: Callable[..., Headers], jobs: Callable[[], list[Job]]
) -> None:
    headers = {**token(), "Idempotency-Key": "k"}
    first = client.post("/api/v1/emails", json=MAIL, headers=headers)
    again = client.post("/api/v1/emails", json=MAIL, headers=headers)
    assert first.json == again.json
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(jobs()) == 1


def test_the_same_key_with_another_body_is_422(
    client: Client, token: Callable[..., Headers], jobs: Callable[[], list[Job]]
) -> None:
    headers = {**token(), "Idempotency-Key": "k"}
    client.post("/api/v1/emails", json=MAIL, headers=headers)
    other = client.post("/api/v1/emails", json=MAIL | {"priority": "high"}, headers=headers)
    assert (other.status_code, other.json["code"]) == (422, "idempotency_key_reused")
    assert len(jobs()) == 1


def test_one_key_of_two_tokens_is_two_keys(
    client: Client, token: Callable[..., Headers], jobs: Callable[[], list[Job]]
) -> None:
    for _ in range(2):
        client.post("/api/v1/emails", json=MAIL, headers={**token(), "Idempotency-Key": "k"})
    assert len(jobs()) == 2


def test_the_key_of_a_dead_job_is_free_again(
    client: Client,
    token: Callable[..., Headers],
    jobs: Callable[[], list[Job]],
    bury: Callable[[str], str],
) -> None:
    headers = {**token(), "Idempotency-Key": "k"}
    first = client.post("/api/v1/emails", json=MAIL, headers=headers).json["job"]["id"]
    bury(first)
    assert client.post("/api/v1/emails", json=MAIL, headers=headers).json["job"]["id"] != first
    assert len(jobs()) == 2


@pytest.mark.parametrize("key", ["", "with space", "x" * 201, "schlüssel"])
def test_a_key_that_is_none_is_400(
    client: Client, token: Callable[..., Headers], jobs: Callable[[], list[Job]], key: str
) -> None:
    response = client.post("/api/v1/emails", json=MAIL, headers={**token(), "Idempotency-Key": key})
    assert (response.status_code, response.json["code"]) == (400, "idempotency_key_invalid")
    assert jobs() == []


def test_a_repeated_upload_keeps_one_file_whatever_its_boundary(
    client: Client, token: Callable[..., Headers], stored: Callable[[], list[Path]], picture: bytes
) -> None:
    headers, answers = {**token(), "Idempotency-Key": "k"}, []
    for _ in range(2):
        upload = {"file": (io.BytesIO(picture), "red.png")}
        answers.append(client.post("/api/v1/images", data=upload, headers=headers).json["job"]["id"])
    assert answers[0] == answers[1]
    assert len(stored()) == 1


def test_a_repeated_batch_is_answered_with_all_its_jobs(
    client: Client, token: Callable[..., Headers], jobs: Callable[[], list[Job]]
) -> None:
    headers, answers = {**token(), "Idempotency-Key": "k"}, []
    for _ in range(2):
        files = [(io.BytesIO(text), f"{text.decode()}.txt") for text in (b"one", b"two", b"three")]
        form: dict[str, Any] = {"analysis": "summary", "files": files}
        answers.append(client.post("/api/v1/documents", data=form, headers=headers).json)
    assert answers[0] == answers[1]
    assert [job["id"] for job in answers[0]["jobs"]] == [job.id for job in jobs()]


def test_a_key_that_stands_for_another_upload_leaves_no_file_behind(
    client: Client, token: Callable[..., Headers], stored: Callable[[], list[Path]], picture: bytes
) -> None:
    headers = {**token(), "Idempotency-Key": "k"}
    client.post("/api/v1/emails", json=MAIL, headers=headers)
    upload = {"file": (io.BytesIO(picture), "red.png")}
    assert client.post("/api/v1/images", data=upload, headers=headers).status_code == 422
    assert stored() == []


def test_the_order_of_fields_does_not_change_the_fingerprint() -> None:
    assert fingerprint({"a": 1, "b": [2]}) == fingerprint({"b": [2], "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": "1"})


def test_a_database_that_is_away_is_503_and_leaves_no_file(
    client: Client,
    token: Callable[..., Headers],
    configure: Callable[..., object],
    stored: Callable[[], list[Path]],
    picture: bytes,
) -> None:
    headers = token()
    configure(DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    upload = {"file": (io.BytesIO(picture), "red.png")}
    response = client.post("/api/v1/images", data=upload, headers=headers)
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "5"
    assert response.content_type == "application/problem+json"
    assert stored() == []
