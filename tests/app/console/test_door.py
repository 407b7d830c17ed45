"""Signing in, signing out, and what happens without."""

from collections.abc import Callable

import pytest

from tests.support.console import PASSWORD, Console


@pytest.mark.parametrize(
    "path", ["/console", "/console/jobs", "/console/dead-letters", "/console/audit", "/console/jobs/x"]
)
def test_every_page_asks_who_is_there(stranger: Console, path: str) -> None:
    response = stranger.get(path)
    assert response.status_code == 303
    assert response.location.startswith("/console/sign-in?next=/console")


def test_signing_in_leads_to_the_page_that_was_asked_for(stranger: Console) -> None:
    response = stranger.sign_in(next="/console/dead-letters?fingerprint=0123456789abcdef")
    assert response.location == "/console/dead-letters?fingerprint=0123456789abcdef"
    assert stranger.get(response.location).status_code == 200


@pytest.mark.parametrize(
    "target", ["https://evil.test/", "//evil.test/console", "/console\\@evil.test", "/jobs", "/console/../x"]
)
def test_signing_in_leads_nowhere_else(stranger: Console, target: str) -> None:
    assert stranger.sign_in(next=target).location == "/console"


@pytest.mark.parametrize(
    ("username", "password"), [("operator", "wrong"), ("nobody", PASSWORD), ("", ""), ("öperator", "☃")]
)
def test_a_wrong_name_or_password_is_refused_alike(stranger: Console, username: str, password: str) -> None:
    response = stranger.sign_in(username, password)
    assert response.status_code == 403
    assert "Name and password do not match." in response.text
    assert stranger.get("/console").status_code == 303


def test_failed_sign_ins_are_slowed_down_also_with_the_right_password(stranger: Console) -> None:
    for _ in range(5):
        assert stranger.sign_in(password="guess").status_code == 403
    refused = stranger.sign_in()
    assert refused.status_code == 429
    assert "Wait a few minutes" in refused.text


def test_sign_ins_that_succeed_are_not_counted(stranger: Console) -> None:
    assert {stranger.sign_in().status_code for _ in range(8)} == {303}


def test_signing_in_needs_the_token_of_its_form(stranger: Console) -> None:
    response = stranger.post("/console/sign-in", data={"username": "operator", "password": PASSWORD})
    assert response.status_code == 400
    assert "reload the page" in response.text


def test_a_session_that_was_planted_does_not_become_the_operators(stranger: Console) -> None:
    stranger.get("/console/sign-in")
    with stranger.session_transaction() as planted:
        planted["anything"], before = "known to somebody else", planted["csrf_token"]
    stranger.sign_in()
    stranger.get("/console")
    with stranger.session_transaction() as session:
        assert "anything" not in session
        assert session["csrf_token"] != before


def test_visitors_keep_their_jobs_when_they_sign_in_and_out(stranger: Console) -> None:
    job = stranger.act("/contact", sample="1").location
    assert stranger.get(job).status_code == 200
    stranger.sign_in()
    assert stranger.get(job).status_code == 200
    stranger.act("/console/sign-out")
    assert stranger.get(job).status_code == 200
    assert "No jobs yet" not in stranger.get("/jobs").text


def test_the_cookie_is_for_this_site_and_not_for_scripts(stranger: Console) -> None:
    cookie = stranger.sign_in().headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


def test_signing_out_ends_it(console: Console) -> None:
    assert console.act("/console/sign-out").status_code == 303
    assert console.get("/console").status_code == 303


def test_a_sign_in_ends_after_half_a_day(console: Console) -> None:
    with console.session_transaction() as session:
        session["console"] = {**session["console"], "until": 0}
    assert console.get("/console").status_code == 303


def test_another_password_ends_earlier_sign_ins(console: Console, configure: Callable[..., object]) -> None:
    configure(CONSOLE_PASSWORD="another one")
    assert console.get("/console").status_code == 303


def test_nothing_of_the_console_stays_in_the_browsers_cache(console: Console) -> None:
    assert console.get("/console").headers["Cache-Control"] == "no-store"
