"""A dead job whose key was taken again stays dead: the newer job does the work."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from sqlalchemy import select

from db import ledger
from db.engine import transaction
from db.ledger.tables import audit_log, jobs
from tests.support.databases import on_both_databases
from tests.support.ledger import A_FAILURE, at_once, bury_job, job_row, letter_for, letters, start_job

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]

NEW = ledger.NewJob("tests.scripted", "default", {}, 1, created_by="token:1")


def ask(*, members: int = 1) -> str:
    """What a request with the one key of these tests is answered: a (first) job's id."""
    with transaction() as connection:
        earlier = ledger.reserve(connection, "order-1", fingerprint="content")
        if earlier is not None:
            return earlier.job_id
        batch_id = None
        if members > 1:
            batch_id = ledger.open_batch(connection, kind="tests", total=members, created_by="token:1")
        made = [
            ledger.NewJob("tests.scripted", "default", {}, 1, "token:1", batch_id=batch_id, position=position)
            for position in range(members)
        ]
        first, *_ = ledger.enqueue(connection, made)
        ledger.bind(connection, "order-1", first)
        return first


def ask_unique() -> str:
    """The job that stands for a business key."""
    with transaction() as connection:
        standing = ledger.take_unique(connection, "unique:tests.scripted:report")
        if standing is not None:
            return standing.job_id
        (job_id,) = ledger.enqueue(connection, [NEW])
        ledger.bind(connection, "unique:tests.scripted:report", job_id)
        return job_id


def bury(job_id: str, *, reason: str = "permanent") -> str:
    """Let it die; returns its letter's id."""
    start = start_job(job_id)
    with transaction() as connection:
        return ledger.bury(connection, start, A_FAILURE, letter_for(start, reason))


def replay(letter_id: str) -> str:
    with transaction() as connection:
        return ledger.replay(connection, letter_id, actor="operator")


def test_a_dead_job_is_not_replayed_once_a_newer_one_has_its_key() -> None:
    older = ask()
    letter_id = bury(older)
    newer = ask()
    with pytest.raises(ledger.AlreadyResolved, match=f"superseded by job {newer} .*idempotency key"):
        replay(letter_id)
    assert (job_row(older).state, job_row(newer).state) == ("dead", "queued")
    (letter,) = letters()
    assert (letter.resolution, letter.resolved_by) == ("superseded", f"job {newer}")


def test_no_job_of_a_batch_is_replayed_once_a_newer_batch_has_its_key() -> None:
    first = ask(members=3)
    with transaction() as connection:
        members = connection.scalars(select(jobs.c.id).order_by(jobs.c.position)).all()
    opened = [bury(job_id) for job_id in members]
    newer = ask(members=3)
    assert newer != first
    for letter_id in opened:
        with pytest.raises(ledger.AlreadyResolved, match=newer):
            replay(letter_id)


def test_a_dead_job_is_not_replayed_beside_a_newer_one_of_its_unique_key() -> None:
    older = ask_unique()
    letter_id = bury(older)
    newer = ask_unique()
    with pytest.raises(ledger.AlreadyResolved, match=newer):
        replay(letter_id)


def test_a_job_that_was_replayed_has_its_key_back() -> None:
    job_id = ask()
    replay(bury(job_id))
    assert ask() == job_id


def test_the_letters_of_other_jobs_stay_open() -> None:
    _, other = bury_job()
    bury(ask())
    ask()
    replay(other)


def test_an_unknown_outcome_still_waits_for_a_person() -> None:
    job_id = ask_unique()
    bury(job_id, reason="outcome_unknown")
    ask_unique()
    assert [letter.resolution for letter in letters()] == [None]


def test_what_closed_the_letter_is_in_the_audit_log() -> None:
    older = ask()
    bury(older)
    newer = ask()
    with transaction() as connection:
        (act,) = connection.execute(select(audit_log)).all()
    assert (act.actor, act.action, act.target) == (f"job {newer}", "job.superseded", older)
    assert act.details == {"letters": 1, "newer_job_id": newer}


@pytest.mark.parametrize("ask_again", [ask, ask_unique])
def test_of_a_replay_and_a_repeat_at_once_one_wins(ask_again: Callable[[], str]) -> None:
    for _ in range(10):
        older = ask_again()
        letter_id = bury(older)

        def act(number: int, letter_id: str = letter_id) -> None:
            if number:
                ask_again()
                return
            with suppress(ledger.AlreadyResolved):
                replay(letter_id)

        at_once(act, times=2)
        with transaction() as connection:
            unfinished = connection.scalars(select(jobs.c.id).where(jobs.c.due_at.is_not(None))).all()
        assert len(unfinished) == 1
        with transaction() as connection:
            ledger.cancel(connection, unfinished[0])
