"""Idempotency at the door."""

from typing import Any

import pytest
from sqlalchemy import func, select, update

from db import ledger
from db.engine import transaction
from db.ledger.tables import idempotency_keys, jobs
from db.types import now
from tests.support.databases import on_both_databases
from tests.support.ledger import A_FAILURE, add_job, at_once, key_row, letter_for, start_job

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]

NEW = ledger.NewJob("tests.scripted", "default", {}, 1, created_by="token:1")


def ask(key: str = "order-1", fingerprint: str = "content") -> tuple[str, bool]:
    """What a request with this key is answered: a job's id, and whether it made that job."""
    with transaction() as connection:
        earlier = ledger.reserve(connection, key, fingerprint=fingerprint)
        if earlier is not None:
            return earlier.job_id, False
        (job_id,) = ledger.enqueue(connection, [NEW])
        ledger.bind(connection, key, job_id)
        return job_id, True


def test_a_repeated_request_is_answered_with_the_same_job() -> None:
    job_id, made = ask()
    assert made
    assert ask() == (job_id, False)


def test_the_same_key_for_other_content_is_refused() -> None:
    job_id, _ = ask()
    with pytest.raises(ledger.KeyReused):
        ask(fingerprint="other content")
    assert ask() == (job_id, False)


def test_other_keys_make_other_jobs() -> None:
    assert ask("order-1")[0] != ask("order-2")[0]


def test_fifty_requests_at_once_make_one_job() -> None:
    answers = at_once(lambda _: ask(), times=50)
    assert len({job_id for job_id, _ in answers}) == 1
    assert sum(made for _, made in answers) == 1
    with transaction() as connection:
        assert connection.execute(select(func.count()).select_from(jobs)).scalar_one() == 1


def test_a_request_that_rolled_back_leaves_the_key_free() -> None:
    with transaction() as connection:
        ledger.reserve(connection, "order-1", fingerprint="content")
        connection.rollback()
    assert key_row("order-1") is None
    assert ask()[1]


def test_the_key_of_a_dead_job_is_free_again_even_for_other_content() -> None:
    job_id, _ = ask()
    start = start_job(job_id)
    with transaction() as connection:
        ledger.bury(connection, start, A_FAILURE, letter_for(start))
    second, made = ask(fingerprint="corrected content")
    assert made
    assert second != job_id
    assert ask(fingerprint="corrected content") == (second, False)


@pytest.mark.parametrize("settle_effect", [ledger.doubt_effect, None])
def test_the_key_of_a_dead_job_that_may_have_acted_stays_taken(settle_effect: Any) -> None:
    job_id, _ = ask()
    start = start_job(job_id)
    with transaction() as connection:
        ledger.begin_effect(connection, start, "email:1")
        if settle_effect is not None:
            settle_effect(connection, start, "email:1")
        ledger.bury(connection, start, A_FAILURE, letter_for(start, "outcome_unknown"))
    assert ask() == (job_id, False)


def test_the_key_of_a_cancelled_job_is_free_again() -> None:
    job_id, _ = ask()
    with transaction() as connection:
        ledger.cancel(connection, job_id)
    assert ask()[1]


def test_the_key_of_a_finished_job_still_answers_with_it() -> None:
    job_id, _ = ask()
    start = start_job(job_id)
    with transaction() as connection:
        ledger.finish(connection, start, None)
    assert ask() == (job_id, False)


def test_of_many_requests_after_a_dead_job_one_makes_the_next() -> None:
    job_id, _ = ask()
    with transaction() as connection:
        ledger.cancel(connection, job_id)
    answers = at_once(lambda _: ask(), times=10)
    assert sum(made for _, made in answers) == 1
    assert len({found for found, _ in answers}) == 1


def test_an_expired_key_is_free_again() -> None:
    job_id, _ = ask()
    with transaction() as connection:
        connection.execute(update(idempotency_keys).values(expires_at=now(-1)))
    second, made = ask(fingerprint="other content")
    assert made
    assert second != job_id


def test_a_batchs_key_stays_taken_while_one_of_its_jobs_lives() -> None:
    with transaction() as connection:
        ledger.reserve(connection, "upload", fingerprint="files")
        batch_id = ledger.open_batch(connection, kind="documents", total=2, created_by="token:1")
    first, second = add_job(batch_id=batch_id, position=0), add_job(batch_id=batch_id, position=1)
    with transaction() as connection:
        ledger.bind(connection, "upload", first)
        ledger.cancel(connection, first)
        assert ledger.reserve(connection, "upload", fingerprint="files") == ledger.Earlier(first, batch_id)
        ledger.cancel(connection, second)
        assert ledger.reserve(connection, "upload", fingerprint="files") is None
