"""State changes by POST with a token, and by nothing else."""

from collections.abc import Callable

import pytest
from flask import Flask
from sqlalchemy import func, select

from db.engine import reading
from db.models import AuditEntry
from tests.support.console import Console
from tests.support.ledger import add_job, job_row
from tests.support.ledger import letters as letter_rows

Letters = Callable[..., list[tuple[str, str]]]

ACTS = ["replay", "discard", "resolve"]


def audit_entries() -> int:
    """How many there are."""
    with reading() as session:
        return session.scalar(select(func.count()).select_from(AuditEntry)) or 0


@pytest.mark.parametrize("act", ACTS)
def test_an_act_without_a_token_is_refused_in_words(console: Console, letters: Letters, act: str) -> None:
    [(job_id, letter_id)] = letters()
    fields = {"reason": "x", "discard_reason": "x", "happened": "yes"}
    response = console.post(f"/console/dead-letters/{letter_id}/{act}", data=fields)
    assert response.status_code == 400
    assert "reload the page" in response.text
    assert job_row(job_id).state == "dead"
    assert letter_rows()[0].resolution is None


def test_a_token_of_another_session_is_refused(console: Console, app: Flask, letters: Letters) -> None:
    [(_, letter_id)] = letters()
    foreign = Console(app, app.response_class).token()
    data = {"csrf_token": foreign, "reason": "x"}
    assert console.post(f"/console/dead-letters/{letter_id}/replay", data=data).status_code == 400
    assert letter_rows()[0].resolution is None


@pytest.mark.parametrize("content_type", ["text/plain", "application/json"])
def test_a_body_that_other_sites_can_send_without_asking_is_refused(
    console: Console, letters: Letters, content_type: str
) -> None:
    [(_, letter_id)] = letters()
    response = console.post(
        f"/console/dead-letters/{letter_id}/replay", data='{"reason": "x"}', content_type=content_type
    )
    assert response.status_code == 400
    assert letter_rows()[0].resolution is None


def test_no_address_of_the_console_changes_anything_by_get(
    console: Console, app: Flask, letters: Letters
) -> None:
    waiting = add_job()
    [(job_id, letter_id)] = letters()
    before = (job_row(waiting), job_row(job_id), letter_rows(), audit_entries())
    for rule in app.url_map.iter_rules():
        if str(rule).startswith("/console"):
            for job in (waiting, job_id):
                path = str(rule).replace("<job_id>", job).replace("<letter_id>", letter_id)
                response = console.get(path, query_string={"happened": "yes", "discard_reason": "x"})
                # What only takes POST is not there by GET: 405, or 404 where it could be a letter's id.
                assert response.status_code in (200, 302, 303, 404, 405), path
    assert (job_row(waiting), job_row(job_id), letter_rows(), audit_entries()) == before


@pytest.mark.parametrize("act", ACTS)
def test_a_token_does_not_stand_in_for_a_sign_in(stranger: Console, letters: Letters, act: str) -> None:
    [(job_id, letter_id)] = letters()
    response = stranger.act(f"/console/dead-letters/{letter_id}/{act}", discard_reason="x", happened="yes")
    assert response.status_code == 303
    assert response.location == "/console/sign-in"
    assert job_row(job_id).state == "dead"
