"""POST /api/v1/newsletters."""

import io
import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from sqlalchemy import func, select
from werkzeug.datastructures import FileStorage
from werkzeug.test import encode_multipart

from app.api.openapi import document
from app.intake.recipients import MOST_RECIPIENTS
from db.engine import reading
from db.models import Base, EmailDelivery, Job, Newsletter
from services.email.unsubscribing import Subscription, end
from tests.support.databases import on_both_databases
from tests.support.web import Client

Headers = dict[str, str]
Token = Callable[..., Headers]
WORDS = {"subject": "March", "html": "<p>Hello</p>", "text": "Hello"}
ADA = {"email": "ada@example.test", "name": "Ada"}


def newsletter(*recipients: object, **words: str) -> dict[str, Any]:
    return WORDS | words | {"list": list(recipients)}


def upload(content: bytes | str, **words: str) -> dict[str, Any]:
    data = content.encode() if isinstance(content, str) else content
    return WORDS | words | {"recipients": FileStorage(io.BytesIO(data), "list.csv")}


def count(model: type[Base]) -> int:
    with reading() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


@pytest.fixture
def send(client: Client, token: Token) -> Callable[..., Any]:
    """Post one as a program whose token may, with the same token each time."""
    headers = token("newsletters")

    def post(body: dict[str, Any], **more: str) -> Any:
        if "recipients" not in body:
            return client.post("/api/v1/newsletters", headers=headers | more, json=body)
        boundary, data = encode_multipart(body)
        kind = f"multipart/form-data; boundary={boundary}"
        return client.post("/api/v1/newsletters", headers=headers | more, data=data, content_type=kind)

    return post


@on_both_databases
def test_each_recipient_has_a_job_of_their_own_in_one_batch(
    send: Callable[..., Any], jobs: Callable[[], list[Job]]
) -> None:
    response = send(newsletter(ADA, {"email": "bob@example.test"}))
    assert response.status_code == 202
    batch = response.json["batch"]
    assert response.headers["Location"] == f"/api/v1/batches/{batch['id']}"
    assert (batch["kind"], batch["total"], batch["counts"]["queued"]) == ("newsletter", 2, 2)
    assert {(job.type, job.queue, job.batch_id) for job in jobs()} == {
        ("emails.send_newsletter", "email_bulk", batch["id"])
    }
    with reading() as session:
        letters = session.scalars(select(EmailDelivery).order_by(EmailDelivery.id)).all()
        row = session.scalars(select(Newsletter)).one()
    assert [(each.to_email, each.to_name) for each in letters] == [
        ("ada@example.test", "Ada"),
        ("bob@example.test", ""),
    ]
    assert [each.context for each in letters] == [{"newsletter_id": row.id}] * 2
    assert (row.subject, row.html, row.text, row.list_name) == (*WORDS.values(), "newsletter")
    assert row.batch_id == batch["id"]
    assert all(set(job.payload) == {"delivery_id"} for job in jobs())


def test_ten_thousand_rows_make_a_job_for_each_valid_address_and_a_repeat_makes_none(
    send: Callable[..., Any],
) -> None:
    rows = [f"person{n}@example{n % 90}.test,Person {n}" for n in range(9_951)]
    spoilt = (
        [f" Person{n}@EXAMPLE{n % 90}.test ,Twice" for n in range(37)],
        [f"person{n}.example.test," for n in range(12)],
    )
    for extra in spoilt:
        for place, row in enumerate(extra):
            rows.insert(200 * place + 5_000, row)
    body = "email,name\n" + "\n".join(rows)
    first = send(upload(body), **{"Idempotency-Key": "march"})
    figures = first.json["recipients"]
    assert first.status_code == 202
    assert (figures["accepted"], figures["duplicates"], figures["unsubscribed"]) == (9_951, 37, 0)
    assert [rows[each["line"] - 2].count("@") for each in figures["invalid"]] == [0] * 12
    second = send(upload(body), **{"Idempotency-Key": "march"})
    assert second.headers["Idempotency-Replayed"] == "true"
    assert second.json["batch"]["id"] == first.json["batch"]["id"]
    assert second.json["recipients"] == figures
    assert (count(Job), count(EmailDelivery), count(Newsletter)) == (9_951, 9_951, 1)


@on_both_databases
def test_the_same_key_for_another_text_or_other_recipients_is_refused(send: Callable[..., Any]) -> None:
    key = {"Idempotency-Key": "march"}
    assert send(newsletter(ADA), **key).status_code == 202
    for other in (newsletter(ADA, text="Bye"), newsletter(ADA, {"email": "bob@example.test"})):
        assert send(other, **key).json["code"] == "idempotency_key_reused"
    assert count(Job) == 1


@pytest.mark.parametrize(
    "content",
    [
        "email,name\nada@example.test,Zoë\nbob@example.test,Bob\n",
        "email;name\r\nada@example.test;Zoë\r\nbob@example.test;Bob",
        "\ufeffemail,name\nada@example.test,Zoë\nbob@example.test,Bob\n",
        "email;name\nada@example.test;Zoë\nbob@example.test;Bob\n".encode("cp1252"),
        'name,email,city\n"Zoë",ada@example.test,Köln\nBob,bob@example.test,\n',
        "E-Mail\tName\nada@example.test\tZoë\nbob@example.test\tBob\n",
        "\nEmail , NAME\n\n ada@example.test , Zoë \n;\n,\nbob@example.test, Bob\n".replace(";\n", ""),
    ],
    ids=["utf8", "semicolon", "bom", "cp1252", "columns", "tab", "spaces"],
)
def test_a_file_is_read_as_office_programs_write_it(send: Callable[..., Any], content: bytes | str) -> None:
    response = send(upload(content))
    assert response.json["recipients"] == {
        "accepted": 2,
        "duplicates": 0,
        "invalid": [],
        "unsubscribed": 0,
    }
    with reading() as session:
        found = session.execute(select(EmailDelivery.to_email, EmailDelivery.to_name)).all()
    assert {tuple(row) for row in found} == {("ada@example.test", "Zoë"), ("bob@example.test", "Bob")}


def test_invalid_rows_are_told_with_their_line_in_the_file(send: Callable[..., Any]) -> None:
    content = (
        'email,name\nada@example.test,"Ada\nSubject: x"\n\nnobody,Bob\n,Carl\n'
        'dora@example.test,Dora\neve@example.test,"\x07"\n"a@b.test\nRCPT TO:<x@evil.test>",Eve\n'
    )
    response = send(upload(content))
    assert response.status_code == 202
    assert response.json["recipients"]["accepted"] == 1
    assert response.json["recipients"]["invalid"] == [
        {"line": 2, "reason": "Name must be one line without control characters."},
        {"line": 5, "reason": "Email is not an e-mail address."},
        {"line": 6, "reason": "Email is not an e-mail address."},
        {"line": 8, "reason": "Name must be one line without control characters."},
        {"line": 9, "reason": "Email must not hold control characters."},
    ]
    assert "evil" not in response.text


def test_invalid_rows_of_a_list_are_told_with_their_place(send: Callable[..., Any]) -> None:
    strange = [{"email": "a@b"}, "bob@example.test", {"name": "Carl"}, {"email": 7}, None]
    response = send(newsletter(ADA, *strange))
    assert response.json["recipients"]["invalid"] == [
        {"line": 2, "reason": "Email is not an e-mail address."},
        {"line": 3, "reason": "Each recipient is an object with email and name."},
        {"line": 4, "reason": "Email is missing."},
        {"line": 5, "reason": "Email must be a valid string."},
        {"line": 6, "reason": "Each recipient is an object with email and name."},
    ]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (upload("email,name\n"), 422, "no_recipients"),
        (upload("email,name\nnobody,\n"), 422, "no_valid_recipient"),
        (upload("ada@example.test,Ada\n"), 422, "recipients_without_header"),
        (upload('email,name\nada@example.test,"Ada\nbob@example.test,Bob\n'), 422, "recipients_unreadable"),
        (upload('email,name\nada@example.test,"A"da\n'), 422, "recipients_unreadable"),
        (upload("email,name\nada@example.test,Ada".encode("utf-16")), 422, "recipients_unreadable"),
        (upload(b"\x81\x8d\x00"), 422, "recipients_unreadable"),
        (upload(b""), 422, "empty_file"),
        (upload("email\nada@example.test", subject=" "), 422, "newsletter_invalid"),
        (upload("email\nada@example.test", html=""), 422, "newsletter_invalid"),
        (newsletter(), 422, "no_recipients"),
        (newsletter({"email": "nobody"}), 422, "no_valid_recipient"),
        (newsletter(ADA, subject="Hi\x00"), 422, "body_invalid"),
        (newsletter(ADA, text="Hi\x07"), 422, "body_invalid"),
        (newsletter(ADA, list_name="a\nb"), 422, "body_invalid"),
        ({"list": [ADA]}, 422, "body_invalid"),
        (WORDS, 422, "body_invalid"),
        (newsletter(*[ADA] * (MOST_RECIPIENTS + 1)), 413, "too_many_recipients"),
    ],
)
def test_what_cannot_be_sent_is_refused_and_nothing_is_stored(
    send: Callable[..., Any], body: dict[str, Any], status: int, code: str
) -> None:
    response = send(body)
    assert (response.status_code, response.json["code"]) == (status, code)
    assert "ada@" not in response.text
    assert (count(Job), count(EmailDelivery), count(Newsletter)) == (0, 0, 0)


@pytest.mark.parametrize(
    "html",
    [
        '<p style="x">hi</p>',
        '<p style="{{x}}">hi</p>',
        '<p style="color:red; font">hi</p>',
        '<p style="width=100">hi</p>',
        "<!-- x",
        "<style>p{",
        "<script>",
    ],
)
def test_html_that_no_recipient_could_be_sent_is_refused_and_nothing_is_stored(
    send: Callable[..., Any], html: str
) -> None:
    for body in (newsletter(ADA, html=html), upload("email\nada@example.test", html=html)):
        response = send(body)
        assert (response.status_code, response.json["code"]) == (422, "newsletter_invalid")
        assert [fault["field"] for fault in response.json["errors"]] == ["html"]
    assert (count(Job), count(EmailDelivery), count(Newsletter)) == (0, 0, 0)


def test_html_with_comments_and_styles_of_its_own_is_sent(send: Callable[..., Any]) -> None:
    html = (
        "<html><style>a { color: red }</style><!-- x --><!--[if mso]><p><![endif]--><div style='width: 1px'>"
    )
    assert send(newsletter(ADA, html=html)).status_code == 202


def test_the_lines_are_told_when_no_recipient_is_valid(send: Callable[..., Any]) -> None:
    response = send(upload("email,name\n" + "nobody,\n" * 13))
    (fault,) = response.json["errors"]
    assert fault["field"] == "recipients"
    assert "Line 2: Email is not an e-mail address. Line 3:" in fault["detail"]
    assert fault["detail"].endswith("And 3 more.")


def test_a_line_break_in_the_subject_becomes_a_space(send: Callable[..., Any]) -> None:
    assert send(newsletter(ADA, subject="Hi\r\nBcc: x@evil.test")).status_code == 202
    with reading() as session:
        assert session.scalars(select(Newsletter.subject)).one() == "Hi Bcc: x@evil.test"


@on_both_databases
def test_who_has_left_the_list_gets_nothing_of_it_and_keeps_the_others(send: Callable[..., Any]) -> None:
    end(Subscription.of("ADA@example.test", "newsletter"))
    response = send(newsletter(ADA, {"email": "bob@example.test"}))
    figures = response.json["recipients"]
    assert (figures["accepted"], figures["unsubscribed"]) == (1, 1)
    assert send(newsletter(ADA, list_name="offers")).json["recipients"]["accepted"] == 1


def test_a_newsletter_to_nobody_but_unsubscribed_people_is_refused(send: Callable[..., Any]) -> None:
    end(Subscription.of("ada@example.test", "newsletter"))
    assert send(newsletter(ADA)).json["code"] == "all_unsubscribed"
    assert count(Newsletter) == 0


@pytest.mark.parametrize(
    ("scopes", "status"), [(("submit",), 403), (("newsletters",), 202), (("operate",), 202)]
)
def test_it_takes_a_scope_of_its_own_or_an_operators(
    client: Client, token: Token, scopes: tuple[str, ...], status: int
) -> None:
    response = client.post("/api/v1/newsletters", json=newsletter(ADA), headers=token(*scopes))
    assert response.status_code == status


def test_without_a_token_it_is_401(client: Client) -> None:
    assert client.post("/api/v1/newsletters", json=newsletter(ADA)).status_code == 401


def test_a_body_above_its_limit_is_413(send: Callable[..., Any]) -> None:
    row = json.dumps(ADA | {"name": "A" * 290}).encode()
    too_much = b"email,name\n" + row * (13 * 1024 * 1024 // len(row))
    assert send(upload(too_much)).status_code == 413
    assert send(newsletter(*[ADA | {"name": "A" * 290}] * 40_000)).status_code == 413


def test_request_and_answer_are_as_described(send: Callable[..., Any]) -> None:
    body = newsletter(ADA)
    answer = send(newsletter(ADA, {"email": "x"})).json
    for value, schema in ((body, "Newsletter"), (answer, "AcceptedNewsletter")):
        root = {"$ref": f"#/components/schemas/{schema}", "components": document()["components"]}
        jsonschema.Draft202012Validator(root).validate(value)
