"""Server-sent events: what is sent, what is not sent again, and when it ends."""

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.reading.events import MAX_STREAMS, batch_events, event_stream, job_events
from app.reading.visible import NotFound
from app.security import Viewer
from tests.support.web import Client

Headers = dict[str, str]
MAIL = {"template": "welcome", "to": {"email": "ada@example.test"}, "context": {"name": "Ada"}}
OPERATOR = Viewer("token:x", frozenset({"operate"}))


def parsed(text: str) -> list[dict[str, Any]]:
    """The events of a stream, each with `event`, `data` (from JSON) and perhaps `id`."""
    events = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            events.append({**fields, "data": json.loads(fields["data"])})
    return events


@pytest.fixture
def job_id(client: Client, token: Callable[..., Headers]) -> str:
    """A queued job."""
    return str(client.post("/api/v1/emails", json=MAIL, headers=token()).json["job"]["id"])


@pytest.fixture
def batch(client: Client, token: Callable[..., Headers]) -> dict[str, Any]:
    """A batch of two documents, as it was answered."""
    files = [(io.BytesIO(text), "a.txt") for text in (b"one", b"two")]
    form: dict[str, Any] = {"analysis": "summary", "files": files}
    answer: dict[str, Any] = client.post("/api/v1/documents", data=form, headers=token()).json
    return answer


def test_a_job_is_told_until_it_is_final(job_id: str, finish: Callable[..., None]) -> None:
    stream = job_events(job_id, OPERATOR, None)
    (first,) = parsed(next(stream))
    finish(job_id)
    (last,) = parsed(next(stream))
    assert (first["event"], first["data"]["state"], last["data"]["state"]) == ("job", "queued", "succeeded")
    assert first["id"] != last["id"]
    assert next(stream, None) is None


def test_a_client_that_comes_back_hears_only_what_has_changed(
    job_id: str, finish: Callable[..., None]
) -> None:
    (seen,) = parsed(next(job_events(job_id, OPERATOR, None)))
    finish(job_id)
    (news,) = parsed("".join(job_events(job_id, OPERATOR, seen["id"])))
    assert news["data"]["state"] == "succeeded"
    assert list(job_events(job_id, OPERATOR, news["id"])) == []


# Less than a heartbeat.
@pytest.mark.timeout(12)
def test_a_client_that_comes_back_to_no_news_hears_at_once_that_we_are_here(job_id: str) -> None:
    (seen,) = parsed(next(job_events(job_id, OPERATOR, None)))
    assert next(job_events(job_id, OPERATOR, seen["id"])) == ": still here\n\n"


def test_the_stream_over_http(
    client: Client, token: Callable[..., Headers], job_id: str, bury: Callable[[str], str]
) -> None:
    bury(job_id)
    headers, path = token("operate"), f"/api/v1/jobs/{job_id}/events"
    with client.get(path, headers=headers) as response:
        assert response.mimetype == "text/event-stream"
        assert response.headers["Cache-Control"] == "no-store"
        (event,) = parsed(response.text)
    assert event["data"]["error"]["code"] == "address_rejected"
    with client.get(path, headers={**headers, "Last-Event-ID": event["id"]}) as again:
        assert again.text == ""


def test_a_batch_tells_its_changed_jobs_and_then_its_counts(
    batch: dict[str, Any], finish: Callable[..., None]
) -> None:
    stream = batch_events(batch["batch"]["id"], OPERATOR, None)
    assert [event["event"] for event in parsed(next(stream))] == ["job", "job", "batch"]
    second = batch["jobs"][1]["id"]
    finish(second)
    job, whole = parsed(next(stream))
    assert (job["data"]["id"], whole["data"]["counts"]["succeeded"]) == (second, 1)
    assert ("id" in job, "id" in whole) == (False, True)
    finish(batch["jobs"][0]["id"])
    assert parsed(next(stream))[-1]["data"]["done"] is True
    assert next(stream, None) is None


def test_somebody_elses_job_is_refused_before_the_stream_begins(job_id: str, batch: dict[str, Any]) -> None:
    with pytest.raises(NotFound):
        job_events(job_id, Viewer("session:other"), None)
    with pytest.raises(NotFound):
        batch_events(batch["batch"]["id"], Viewer("session:other"), None)


def test_streams_are_bounded_and_a_closed_one_makes_room(
    client: Client, token: Callable[..., Headers], job_id: str
) -> None:
    def nothing() -> Iterator[str]:
        yield ""

    headers, path = token("operate"), f"/api/v1/jobs/{job_id}/events"
    open_streams = [event_stream(nothing()) for _ in range(MAX_STREAMS)]
    try:
        refused = client.get(path, headers=headers)
        assert refused.status_code == 503
        assert int(refused.headers["Retry-After"]) > 0
    finally:
        for stream in open_streams:
            stream.close()
    with client.get(path, headers=headers) as allowed:
        assert allowed.status_code == 200
