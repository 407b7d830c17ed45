"""Leaving a list: by a page with a button, or by a mail service's one click."""

from urllib.parse import urlsplit

import pytest
from sqlalchemy import select

from app.limits import FORM_POSTS
from db.engine import reading
from db.models import Unsubscribe
from services.email.unsubscribing import Subscription
from tests.support.databases import on_both_databases
from tests.support.web import Client

ADA = Subscription.of("ada@example.test", "newsletter")


def left() -> list[Subscription]:
    with reading() as session:
        return [
            Subscription(row.list_name, row.address_sha256) for row in session.scalars(select(Unsubscribe))
        ]


@pytest.fixture
def path(settings: object) -> str:
    """The link's, for Ada."""
    return urlsplit(ADA.link).path


@on_both_databases
def test_one_click_unsubscribes_without_cookie_token_or_session(client: Client, database: str) -> None:
    path = urlsplit(ADA.link).path
    response = client.post(path, data={"List-Unsubscribe": "One-Click"})
    assert response.status_code == 200
    assert left() == [ADA]
    assert client.post(path, data={"List-Unsubscribe": "One-Click"}).status_code == 200
    assert left() == [ADA]


def test_a_form_in_parts_is_taken_too(client: Client, path: str) -> None:
    response = client.post(path, data={"List-Unsubscribe": "One-Click"}, content_type="multipart/form-data")
    assert response.status_code == 200
    assert left() == [ADA]


def test_looking_at_the_page_changes_nothing(client: Client, path: str) -> None:
    page = client.get(path)
    assert (page.status_code, client.head(path).status_code) == (200, 200)
    assert 'method="post"' in page.text
    assert "“newsletter”" in page.text
    assert left() == []


def test_the_link_holds_no_address(path: str) -> None:
    assert "ada" not in path
    assert Subscription.of("Ada@Example.test", "newsletter") == ADA


def test_a_link_of_somebody_elses_making_is_not_there(client: Client, path: str) -> None:
    for forged in (f"{path[:-1]}{'A' if path[-1] != 'A' else 'B'}", f"{path}.x", "/unsubscribe/nothing"):
        assert client.get(forged).status_code == 404
        assert client.post(forged).status_code == 404
    assert left() == []


def test_a_link_made_with_another_key_is_not_there(client: Client, path: str, configure: object) -> None:
    assert callable(configure)
    configure(SECRET_KEY="another")
    assert client.post(path).status_code == 404


def test_a_mail_service_may_send_more_than_a_visitor(client: Client, path: str) -> None:
    most = int(FORM_POSTS.partition("/")[0])
    assert {client.post(path).status_code for _ in range(most + 5)} == {200}
