"""Cookies, headers, and forms that came from elsewhere."""

import logging
from collections.abc import Callable

import pytest
from flask import Flask

from app import create_app
from db.models import Job
from tests.support.web import Client

Headers = dict[str, str]


def test_every_answer_forbids_foreign_code(client: Client) -> None:
    for path in ("/", "/nothing", "/healthz", "/api/v1/openapi.json"):
        headers = client.get(path).headers
        assert "default-src 'self'" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize(
    ("public_url", "secure"), [("http://127.0.0.1:8000", False), ("https://example.test", True)]
)
@pytest.mark.usefixtures("database")
def test_the_session_cookie_is_httponly_lax_and_secure_where_people_come_by_https(
    configure: Callable[..., object], public_url: str, secure: bool
) -> None:
    configure(PUBLIC_URL=public_url)
    cookie = Client(create_app()).get("/jobs").headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert ("Secure" in cookie) is secure


@pytest.mark.parametrize("path", ["/contact", "/images", "/documents"])
def test_a_form_without_its_token_is_a_friendly_400_and_makes_no_job(
    client: Client, jobs: Callable[[], list[Job]], path: str
) -> None:
    response = client.post(path, data={"name": "Ada"})
    assert response.status_code == 400
    assert "open for too long" in response.text
    assert response.mimetype == "text/html"
    assert jobs() == []


def test_a_session_does_not_open_the_api(client: Client) -> None:
    client.get("/")
    response = client.post("/api/v1/emails", json={}, headers={"Origin": "https://evil.test"})
    assert response.status_code == 401


def test_a_bug_is_answered_without_its_text_and_logged_with_its_place(
    app: Flask, caplog: pytest.LogCaptureFixture
) -> None:
    address = "ada@example.test"

    @app.get("/api/broken")
    def broken() -> str:
        raise ValueError(address)

    with caplog.at_level(logging.ERROR):
        response = Client(app).get("/api/broken")
    assert response.status_code == 500
    assert response.content_type == "application/problem+json"
    assert "ada@" not in response.text + caplog.text
    assert "test_security.py" in caplog.text


def test_a_revoked_token_is_refused(client: Client, token: Callable[..., Headers], app: Flask) -> None:
    headers = token()
    name = app.test_cli_runner().invoke(args=["tokens", "list"]).output.split()[4]
    assert client.get("/api/v1/jobs/x", headers=headers).status_code == 404
    assert app.test_cli_runner().invoke(args=["tokens", "revoke", name]).exit_code == 0
    assert client.get("/api/v1/jobs/x", headers=headers).status_code == 401
