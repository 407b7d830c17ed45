"""POST /api/v1/emails."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from app.intake.emails import send_contact
from app.intake.refusals import Refused
from db.engine import reading
from db.models import EmailDelivery, Job
from tests.support.web import Client

Headers = dict[str, str]
MAIL: dict[str, Any] = {
    "template": "welcome",
    "to": {"email": "ada@example.test", "name": "Ada"},
    "context": {"name": "Ada"},
}


def test_a_mail_is_accepted_and_its_payload_holds_no_address(
    client: Client, token: Callable[..., Headers], jobs: Callable[[], list[Job]]
) -> None:
    response = client.post("/api/v1/emails", json=MAIL, headers=token())
    (job,) = jobs()
    assert response.status_code == 202
    assert response.headers["Location"] == response.json["job"]["links"]["self"] == f"/api/v1/jobs/{job.id}"
    assert response.json["job"]["state"] == "queued"
    assert set(job.payload) == {"delivery_id"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"template": "nothing"}, "template"),
        ({"context": {}}, "context.name"),
        ({"context": {"name": "Ada", "more": 1}}, "context.more"),
        ({"context": {"name": "A\nBcc: x@evil.test"}}, "context.name"),
        ({"to": {"email": "a@b.test\r\nRCPT TO:<x@evil.test>"}}, "to.email"),
        ({"to": {"email": "ada@example.test", "name": "A\r\nBcc: x@evil.test"}}, "to.name"),
        ({"to": {"email": "nobody"}}, "to.email"),
        ({"to": None}, "to"),
        ({"priority": "urgent"}, "priority"),
        ({"send_at": "2030-01-01T00:00:00"}, "send_at"),
        ({"send_at": 1893456000}, "send_at"),
        ({"send_at": "9999-01-01T00:00:00Z"}, "send_at"),
        ({"send_at": "9999-12-31T23:59:59-14:00"}, "send_at"),
        ({"send_at": "0001-01-01T00:00:00+14:00"}, "send_at"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_does_not_fit_is_422_and_names_the_field(
    client: Client,
    token: Callable[..., Headers],
    jobs: Callable[[], list[Job]],
    change: dict[str, Any],
    field: str,
) -> None:
    response = client.post("/api/v1/emails", json=MAIL | change, headers=token())
    assert response.status_code == 422
    assert response.content_type == "application/problem+json"
    assert [error["field"] for error in response.json["errors"]] == [field]
    assert "evil" not in response.text
    assert jobs() == []


def test_a_missing_variable_is_named_in_a_sentence(client: Client, token: Callable[..., Headers]) -> None:
    response = client.post("/api/v1/emails", json=MAIL | {"context": {}}, headers=token())
    assert response.json["detail"] == "Name is missing."
    assert response.json["errors"][0]["pointer"] == "/context/name"


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{", "application/json", 400),
        (b"", "application/json", 422),
        (b"[]", "application/json", 422),
        (b'{"template": "\\ud800"}', "application/json", 400),
        (b"template=welcome", "application/x-www-form-urlencoded", 415),
        (b"{}", "text/plain", 415),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(
    client: Client, token: Callable[..., Headers], body: bytes, content_type: str, status: int
) -> None:
    response = client.post("/api/v1/emails", data=body, content_type=content_type, headers=token())
    assert response.status_code == status
    assert response.content_type == "application/problem+json"


def test_a_later_time_parks_the_job_until_then(client: Client, token: Callable[..., Headers]) -> None:
    when = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=3)
    job = client.post("/api/v1/emails", json=MAIL | {"send_at": when.isoformat()}, headers=token()).json[
        "job"
    ]
    assert job["state"] == "waiting"
    assert datetime.fromisoformat(job["due_at"]) == when


def test_a_time_that_has_passed_means_now(client: Client, token: Callable[..., Headers]) -> None:
    body = MAIL | {"send_at": "2020-01-01T00:00:00+02:00", "priority": "high"}
    job = client.post("/api/v1/emails", json=body, headers=token()).json["job"]
    assert (job["state"], job["priority"]) == ("queued", "high")


@pytest.mark.usefixtures("database")
class TestContact:
    def test_it_is_a_batch_of_a_notification_to_answer_and_an_acknowledgement(self) -> None:
        submission = send_contact(
            name="Ada", email="ada@example.test", subject="Hi\n", message="Hello", created_by="session:a"
        )
        assert submission.batch_id is not None
        assert len(submission.jobs) == 2
        with reading() as session:
            notice, thanks = session.scalars(select(EmailDelivery).order_by(EmailDelivery.id)).all()
        assert (notice.to_email, notice.reply_to_email) == ("owner@localhost.test", "ada@example.test")
        assert notice.context["subject"] == "Hi"
        assert (thanks.to_email, thanks.reply_to_email) == ("ada@example.test", None)

    def test_every_field_at_fault_is_named_at_once(self) -> None:
        with pytest.raises(Refused) as refusal:
            send_contact(name="", email="x", subject=" ", message="ok", created_by="session:a")
        assert list(refusal.value.fields) == ["name", "email", "subject"]
        assert refusal.value.fields["name"] == "Name must not be blank."
