"""What each act does to the ledger, and what it leaves in the audit log."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from db import ledger
from db.engine import reading, transaction
from db.models import AuditEntry
from tests.support.console import Console
from tests.support.databases import on_both_databases
from tests.support.ledger import add_job, job_row, start_job
from tests.support.ledger import letters as letter_rows

Letters = Callable[..., list[tuple[str, str]]]


def audited() -> list[AuditEntry]:
    """The audit log, oldest first."""
    with reading() as session:
        return list(session.scalars(select(AuditEntry).order_by(AuditEntry.id)))


@on_both_databases
def test_a_replay_queues_the_job_and_is_recorded(console: Console, letters: Letters) -> None:
    [(job_id, letter_id)] = letters()
    response = console.act(f"/console/dead-letters/{letter_id}/replay", reason="the server is back")
    assert response.status_code == 303
    assert job_row(job_id).state == "queued"
    assert letter_rows()[0].resolution == "replayed"
    [entry] = audited()
    assert (entry.actor, entry.action, entry.target) == (
        "console:operator",
        "dead_letter.replayed",
        letter_id,
    )
    assert entry.details["note"] == "the server is back"
    page = console.get(response.location).text
    assert "Queued again." in page
    assert "Replayed by console:operator" in page


def test_a_second_click_changes_nothing_and_says_so(console: Console, letters: Letters) -> None:
    [(_, letter_id)] = letters()
    path = f"/console/dead-letters/{letter_id}/replay"
    console.act(path)
    again = console.act(path)
    assert again.status_code == 409
    assert "Nothing was changed" in again.text
    assert len(audited()) == 1


@on_both_databases
def test_an_edited_payload_is_stored_and_the_old_one_kept_in_the_audit_log(
    console: Console, letters: Letters
) -> None:
    [(job_id, letter_id)] = letters(act="refuse")
    before = job_row(job_id).payload
    text = '{"record": "elsewhere", "act": "succeed"}'
    response = console.act(f"/console/dead-letters/{letter_id}/replay", payload=text)
    assert response.status_code == 303
    row = job_row(job_id)
    assert (row.state, row.payload["record"], row.payload["act"]) == ("queued", "elsewhere", "succeed")
    assert audited()[0].details["payload_before"] == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "This is not valid JSON: look at line 1, column 2."),
        ("[" * 100_000, "This is nested too deeply"),
        ("9" * 5_000, "a number with too many digits"),
        ("[1]", "The payload must be an object in braces."),
        ("{}", "Record is missing."),
        ('{"record": "r", "akt": "x"}', "Akt is not known here."),
        ('{"record": "r", "seconds": "many"}', "Seconds must be a valid number"),
        ('{"record": "' + "x" * 5000 + '"}', "at most 4096 bytes"),
    ],
)
def test_a_payload_that_does_not_fit_is_shown_again_with_what_is_wrong_beside_it(
    console: Console, letters: Letters, text: str, said: str
) -> None:
    [(job_id, letter_id)] = letters()
    before = job_row(job_id).payload
    response = console.act(f"/console/dead-letters/{letter_id}/replay", payload=text, reason="typed")
    assert response.status_code == 422
    assert said in response.text
    assert 'aria-describedby="payload-hint payload-wrong" aria-invalid="true"' in response.text
    assert "typed" in response.text
    assert job_row(job_id).payload == before
    assert letter_rows()[0].resolution is None
    assert audited() == []


def test_a_discard_needs_a_reason(console: Console, letters: Letters) -> None:
    [(_, letter_id)] = letters()
    response = console.act(f"/console/dead-letters/{letter_id}/discard", discard_reason="  ")
    assert response.status_code == 422
    assert "Say why" in response.text
    assert letter_rows()[0].resolution is None


def test_a_discarded_letters_job_stays_dead(console: Console, letters: Letters) -> None:
    [(job_id, letter_id)] = letters()
    console.act(f"/console/dead-letters/{letter_id}/discard", discard_reason="not needed")
    assert job_row(job_id).state == "dead"
    assert letter_rows()[0].resolution == "discarded"
    assert audited()[0].details["note"] == "not needed"


def test_a_kind_is_discarded_up_to_what_the_page_showed(console: Console, letters: Letters) -> None:
    shown = letters(3)
    [later] = letters(1)
    fingerprint = letter_rows()[0].fingerprint
    fields = {"fingerprint": fingerprint, "up_to": shown[-1][1], "discard_reason": "spam"}
    assert console.act("/console/dead-letters/discard", **fields).status_code == 303
    assert [row.resolution for row in letter_rows()] == ["discarded"] * 3 + [None]
    assert len(audited()) == 3
    assert later[1] in {row.id for row in letter_rows(resolution=None)}


@pytest.mark.parametrize(("happened", "state"), [("yes", "succeeded"), ("no", "queued")])
def test_an_unknown_outcome_is_settled_by_a_persons_word(
    console: Console, letters: Letters, happened: str, state: str
) -> None:
    [(job_id, letter_id)] = letters(reason="outcome_unknown")
    assert "Did it happen?" in console.get(f"/console/dead-letters/{letter_id}").text
    refused = console.act(f"/console/dead-letters/{letter_id}/replay")
    assert refused.status_code == 409
    console.act(f"/console/dead-letters/{letter_id}/resolve", happened=happened)
    assert job_row(job_id).state == state
    assert len(audited()) == 1


def test_resolving_needs_an_answer(console: Console, letters: Letters) -> None:
    [(_, letter_id)] = letters(reason="outcome_unknown")
    response = console.act(f"/console/dead-letters/{letter_id}/resolve")
    assert response.status_code == 422
    assert "Say whether it happened." in response.text


def test_a_waiting_job_is_cancelled_at_once_and_a_running_one_is_asked(console: Console) -> None:
    waiting, running = add_job(), start_job().job_id
    for job_id in (waiting, running):
        console.act(f"/console/jobs/{job_id}/cancel")
    assert job_row(waiting).state == "cancelled"
    assert job_row(running).cancel_requested_at is not None
    assert "stop at its next checkpoint" in console.get(f"/console/jobs/{running}").text
    assert [entry.action for entry in audited()] == ["job.cancelled"] * 2


@pytest.mark.parametrize("per_minute", ["0", "601", "0000601", "9" * 5000, "many", "-1", "", "1e3", "٣"])
def test_a_pace_that_is_none_is_refused_beside_its_field(
    console: Console, letters: Letters, per_minute: str
) -> None:
    letters(2)
    fingerprint = letter_rows()[0].fingerprint
    response = console.act("/console/dead-letters/replay", fingerprint=fingerprint, per_minute=per_minute)
    assert response.status_code == 422
    assert "A number from 1 to 600." in response.text
    assert {row.resolution for row in letter_rows()} == {None}


@pytest.mark.parametrize("act", ["replay", "discard", "resolve"])
def test_a_letter_that_is_unknown_is_not_found(console: Console, act: str) -> None:
    for id_ in ("nonsense", "01890000-0000-7000-8000-000000000000"):
        response = console.act(
            f"/console/dead-letters/{id_}/{act}", payload="{}", discard_reason="x", happened="no"
        )
        assert response.status_code == 404


@on_both_databases
def test_a_message_without_a_job_can_only_be_discarded(console: Console) -> None:
    with transaction() as connection:
        letter_id = ledger.open_letter(
            connection,
            ledger.Letter(
                None, "x", "default", "operators", "foreign_message", "foreign", "No.", shown="<b>\x1b\0"
            ),
        )
    page = console.get(f"/console/dead-letters/{letter_id}").text
    assert "&lt;b&gt;\\x1b\\x00" in page
    assert "Queue it again" not in page
    for fields in ({}, {"payload": "{}"}):
        answer: Any = console.act(f"/console/dead-letters/{letter_id}/replay", **fields)
        assert answer.status_code == 409
    assert console.act(f"/console/dead-letters/{letter_id}/discard", discard_reason="x").status_code == 303


@on_both_databases
def test_a_nul_character_is_refused_wherever_it_stands(console: Console, letters: Letters) -> None:
    [(_, letter_id)] = letters()
    path = f"/console/dead-letters/{letter_id}"
    for call, fields in (
        ("replay", {"reason": "a\0b"}),
        ("replay", {"payload": '{"record": "\\u0000"}'}),
        ("discard", {"discard_reason": "a\0b"}),
    ):
        response = console.act(f"{path}/{call}", **fields)
        assert response.status_code == 422
        assert "must not contain NUL characters" in response.text
    for call in ("replay", "discard"):
        kind = {"fingerprint": "\0", "per_minute": "1", "discard_reason": "x"}
        assert console.act(f"/console/dead-letters/{call}", **kind).status_code == 404
    assert console.get("/console/dead-letters?fingerprint=%00").status_code == 404
    assert letter_rows()[0].resolution is None
