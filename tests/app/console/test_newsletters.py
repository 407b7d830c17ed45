"""The console's newsletters: preview, change, send, follow."""

import html
import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select
from werkzeug.datastructures import FileStorage
from werkzeug.test import encode_multipart

from db.engine import reading
from db.models import EmailDelivery, Job, Newsletter
from tests.support.console import Console

LIST = "ada@example.test,Ada\nADA@example.test\nnobody\nbob@example.test; x\n"
FILE = "email;name\r\nada@example.test;Zoë\r\nbob@example.test;\r\n"
TYPED = {"subject": "March", "html": "<p>Hello</p>", "text": "\n\nHello", "list_name": "newsletter"}


def jobs() -> int:
    with reading() as session:
        return session.scalar(select(func.count()).select_from(Job)) or 0


def fields(page: str) -> dict[str, str]:
    """What the page's form would send."""
    inputs = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page)
    areas = re.findall(r'<textarea [^>]*name="(\w+)"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    return {name: html.unescape(value) for name, value in (*inputs, *areas)}


@pytest.fixture
def step(console: Console) -> Callable[..., Any]:
    """Press a button of the form, with what was typed before it."""

    def press(button: str, typed: dict[str, Any]) -> Any:
        page = console.get("/console/newsletters").text
        boundary, data = encode_multipart({**fields(page), **typed, "step": button})
        kind = f"multipart/form-data; boundary={boundary}"
        return console.post("/console/newsletters", data=data, content_type=kind)

    return press


def test_the_preview_tells_whom_it_reaches_and_stores_nothing(step: Callable[..., Any]) -> None:
    page = step("preview", TYPED | {"recipients": "ada@example.test,Ada\nADA@example.test\nnobody\n"})
    assert page.status_code == 200
    figures = re.findall(r"<dt>(\w+)</dt><dd>([\d,]+)</dd>", page.text)
    assert figures == [("Recipient", "1"), ("Duplicates", "1"), ("Invalid", "1"), ("Unsubscribed", "0")]
    assert '<td class="number">3</td><td class="wide">Email is not an e-mail address.</td>' in page.text
    assert jobs() == 0


def test_sending_what_was_previewed_leads_to_its_page_and_twice_to_the_same(
    step: Callable[..., Any], console: Console
) -> None:
    file = FileStorage(io.BytesIO(FILE.encode()), "list.csv")
    preview = step("preview", TYPED | {"file": file, "recipients": "ignored"})
    shown = fields(preview.text)
    sent = step("send", shown)
    assert sent.status_code == 303
    assert step("send", shown).location == sent.location
    assert jobs() == 2
    with reading() as session:
        row = session.scalars(select(Newsletter)).one()
        names = session.scalars(select(EmailDelivery.to_name).order_by(EmailDelivery.id)).all()
    assert (row.text, names, row.created_by) == ("Hello", ["Zoë", ""], "console:operator")
    page = console.get(sent.location)
    assert "0 of 2 finished" in page.text
    assert 'data-live="batch"' in page.text
    assert "March" in console.get("/console/newsletters").text


def test_changing_it_brings_back_all_that_was_typed(step: Callable[..., Any]) -> None:
    typed = TYPED | {"recipients": "nobody\nada@example.test,<b>\n"}
    preview = step("preview", typed)
    back = fields(step("change", fields(preview.text)).text)
    assert {name: back[name] for name in ("text", "html", "recipients")} == {
        "text": TYPED["text"],
        "html": TYPED["html"],
        "recipients": typed["recipients"],
    }
    assert jobs() == 0


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"subject": " "}, "subject"),
        ({"text": ""}, "text"),
        ({"html": ""}, "html"),
        ({"html": '<p style="x">Hello</p>'}, "html"),
        ({"html": "<!-- Hello"}, "html"),
        ({"list_name": ""}, "list_name"),
        ({"recipients": ""}, "recipients"),
        ({"recipients": "nobody"}, "recipients"),
        ({"recipients": 'ada@example.test,"'}, "recipients"),
        ({"file": FileStorage(io.BytesIO(b"ada@example.test"), "list.csv")}, "recipients"),
    ],
)
def test_what_is_wrong_stands_beside_its_field(
    step: Callable[..., Any], typed: dict[str, Any], field: str
) -> None:
    page = step("preview", TYPED | {"recipients": LIST} | typed)
    assert page.status_code == 422
    assert f'id="{field}-wrong"' in page.text
    assert "Nothing was sent" in page.text


def test_ten_thousand_recipients_travel_in_the_page(step: Callable[..., Any]) -> None:
    rows = "".join(f"person{n}@example.test,Somebody with a rather long name {n}\n" for n in range(10_000))
    shown = fields(step("preview", TYPED | {"recipients": rows}).text)
    assert len(shown["recipients"]) > 500_000
    assert step("send", shown).status_code == 303
    assert jobs() == 10_000


def test_a_running_newsletter_is_paused_resumed_and_cancelled_from_its_page(
    step: Callable[..., Any], console: Console
) -> None:
    path = step("send", TYPED | {"recipients": "ada@example.test\nbob@example.test\n"}).location
    assert console.act(f"{path}/pause").location == path
    assert "by console:operator, with everything else in the queue email_bulk" in console.get(path).text
    assert console.act(f"{path}/resume").location == path
    assert "Paused" not in console.get(path).text
    assert console.act(f"{path}/cancel").location == path
    page = console.get(path).text
    assert "2 of 2 finished, 2 cancelled" in page
    assert 'id="cancel"' not in page


def test_it_is_for_operators(stranger: Console) -> None:
    assert stranger.get("/newsletters").location == "/console/newsletters"
    assert stranger.get("/console/newsletters").location.startswith("/console/sign-in")
    assert stranger.act("/console/newsletters", step="send", **TYPED, recipients=LIST).status_code == 303
    assert jobs() == 0


def test_a_batch_that_is_no_newsletter_has_no_page_here(console: Console) -> None:
    for path in ("x", "00000000-0000-7000-8000-000000000000", "x/events", "x.json"):
        assert console.get(f"/console/newsletters/{path}").status_code == 404
