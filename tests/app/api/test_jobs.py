"""/api/v1/jobs and /api/v1/batches: whose they are, and what they tell."""

import io
from collections.abc import Callable
from typing import Any

import pytest

from db.engine import reading
from db.models import AuditEntry
from db.types import new_id
from tests.support.databases import on_both_databases
from tests.support.ledger import add_job
from tests.support.web import Client

Headers = dict[str, str]
MAIL = {"template": "welcome", "to": {"email": "ada@example.test"}, "context": {"name": "Ada"}}


def submit(client: Client, headers: Headers) -> str:
    return str(client.post("/api/v1/emails", json=MAIL, headers=headers).json["job"]["id"])


@pytest.mark.parametrize("call", ["", "/events", "/cancel"])
@pytest.mark.parametrize("id_", ["nothing", "00000000-0000-0000-0000-000000000000", "%00", "x" * 300])
def test_an_unknown_or_malformed_id_is_404(
    client: Client, token: Callable[..., Headers], id_: str, call: str
) -> None:
    method = "POST" if call == "/cancel" else "GET"
    response = client.open(f"/api/v1/jobs/{id_}{call}", method=method, headers=token())
    assert response.status_code == 404
    assert response.content_type == "application/problem+json"


def test_another_tokens_job_is_404_and_stays_as_it_is(client: Client, token: Callable[..., Headers]) -> None:
    mine, other = token(), token()
    job_id = submit(client, mine)
    assert client.get(f"/api/v1/jobs/{job_id}", headers=other).status_code == 404
    assert client.post(f"/api/v1/jobs/{job_id}/cancel", headers=other).status_code == 404
    assert client.get(f"/api/v1/jobs/{job_id}/events", headers=other).status_code == 404
    assert client.get(f"/api/v1/jobs/{job_id}", headers=mine).json["state"] == "queued"


def test_an_operator_sees_and_cancels_everybodys_jobs_and_is_audited(
    client: Client, token: Callable[..., Headers]
) -> None:
    job_id = submit(client, token())
    operator = token("operate")
    assert client.get(f"/api/v1/jobs/{job_id}", headers=operator).status_code == 200
    assert client.post(f"/api/v1/jobs/{job_id}/cancel", headers=operator).json["state"] == "cancelled"
    with reading() as session:
        (entry,) = session.query(AuditEntry)
    assert (entry.action, entry.target) == ("job.cancelled", job_id)


def test_a_job_tells_everything_about_itself(
    client: Client, token: Callable[..., Headers], finish: Callable[..., None]
) -> None:
    headers = token()
    job_id = submit(client, headers)
    finish(job_id, {"message_id": "<a@b>"})
    job = client.get(f"/api/v1/jobs/{job_id}", headers=headers).json
    assert list(job) == [
        "id", "type", "queue", "state", "priority", "progress", "attempts", "created_at", "started_at",
        "finished_at", "due_at", "result", "error", "links",
    ]  # fmt: skip
    assert (job["state"], job["progress"], job["attempts"]) == ("succeeded", 100, 1)
    assert job["result"] == {"message_id": "<a@b>"}
    assert job["created_at"].endswith("+00:00")
    assert job["links"] == {"self": f"/api/v1/jobs/{job_id}", "events": f"/api/v1/jobs/{job_id}/events"}


def test_a_dead_job_tells_why(
    client: Client, token: Callable[..., Headers], bury: Callable[[str], str]
) -> None:
    headers = token()
    job_id = submit(client, headers)
    bury(job_id)
    job = client.get(f"/api/v1/jobs/{job_id}", headers=headers).json
    assert job["state"] == "dead"
    assert job["error"] == {"code": "address_rejected", "message": "The server refused the recipient."}


def test_cancelling_is_offered_while_it_makes_a_difference(
    client: Client, token: Callable[..., Headers]
) -> None:
    headers = token()
    job_id = submit(client, headers)
    before = client.get(f"/api/v1/jobs/{job_id}", headers=headers).json
    after = client.post(before["links"]["cancel"], headers=headers).json
    assert (after["state"], after["due_at"], "cancel" in after["links"]) == ("cancelled", None, False)


def test_files_in_a_result_are_addresses_and_pictures_tell_what_they_save(
    client: Client, token: Callable[..., Headers], finish: Callable[..., None], picture: bytes
) -> None:
    headers = token()
    upload = {"file": (io.BytesIO(picture), "a.png")}
    job_id = client.post("/api/v1/images", data=upload, headers=headers).json["job"]["id"]
    file_id = new_id()
    finish(
        job_id,
        {"original": {"file_id": file_id, "bytes": 10}, "renditions": [{"file_id": file_id, "bytes": 4}]},
    )
    job: dict[str, Any] = client.get(f"/api/v1/jobs/{job_id}", headers=headers).json
    assert job["result"]["renditions"] == [
        {"file_id": file_id, "bytes": 4, "url": f"/files/{file_id}", "bytes_saved": 6}
    ]
    assert job["links"]["files"] == [f"/files/{file_id}"] * 2


@on_both_databases
@pytest.mark.parametrize("file_id", ["zz", "", 5, None])
def test_a_stored_payload_whose_id_is_none_hides_no_job(
    client: Client, token: Callable[..., Headers], file_id: object
) -> None:
    job_id = add_job(type="images.resize_image", queue="images", payload={"file_id": file_id})
    assert client.get(f"/api/v1/jobs/{job_id}", headers=token("operate")).status_code == 200


def test_a_batch_counts_its_jobs_by_state(
    client: Client, token: Callable[..., Headers], finish: Callable[..., None], bury: Callable[..., str]
) -> None:
    headers = token()
    files = [(io.BytesIO(text), "a.txt") for text in (b"one", b"two", b"three")]
    made = client.post(
        "/api/v1/documents", data={"analysis": "summary", "files": files}, headers=headers
    ).json
    finish(made["jobs"][0]["id"])
    bury(made["jobs"][1]["id"])
    batch = client.get(made["batch"]["links"]["self"], headers=headers).json
    expected = {"queued": 1, "waiting": 0, "running": 0, "succeeded": 1, "dead": 1, "cancelled": 0}
    assert batch["counts"] == expected
    assert (batch["progress"], batch["done"], len(batch["jobs"])) == (66, False, 3)
    assert client.get(made["batch"]["links"]["self"], headers=token()).status_code == 404


@pytest.mark.parametrize("path", ["/api/v1/jobs/x", "/api/v1/dead-letters"])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic YTpi"},
        {"Authorization": "Bearer ütf"},
    ],
)
def test_without_a_valid_token_it_is_401(client: Client, path: str, headers: Headers) -> None:
    response = client.get(path, headers=headers)
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert response.content_type == "application/problem+json"


def test_a_wrong_method_or_address_is_a_problem_too(client: Client, token: Callable[..., Headers]) -> None:
    wrong = client.delete("/api/v1/emails", headers=token())
    assert (wrong.status_code, set(wrong.headers["Allow"].split(", "))) == (405, {"OPTIONS", "POST"})
    assert wrong.json["instance"] == "/api/v1/emails"
    assert client.get("/api/v1/nothing").content_type == "application/problem+json"
