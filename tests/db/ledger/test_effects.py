"""Around an effect: begun once, its receipt kept, its doubt kept."""

from dataclasses import replace
from typing import Any

import pytest

from db import ledger
from db.engine import transaction
from tests.support.databases import on_both_databases
from tests.support.ledger import A_FAILURE, at_once, key_row, start_job

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]

KEY = "email:1"


def begin(start: ledger.Start) -> dict[str, Any] | None:
    with transaction() as connection:
        return ledger.begin_effect(connection, start, KEY)


def taken_over() -> tuple[ledger.Start, ledger.Start]:
    """A start that lost its job, and the one that has it now."""
    lost = start_job()
    with transaction() as connection:
        ledger.lose(connection, lost, A_FAILURE)
    return lost, start_job(lost.job_id, worker="other@there:2")


def state() -> str | None:
    row = key_row(KEY)
    return None if row is None else row.state


def test_an_effect_begins_once_and_its_receipt_answers_every_later_start() -> None:
    start = start_job()
    assert begin(start) is None
    assert state() == "started"
    with transaction() as connection:
        ledger.record_receipt(connection, KEY, {"message_id": "a"})
    assert begin(start) == {"message_id": "a"}
    assert begin(start_job()) == {"message_id": "a"}


def test_an_empty_receipt_is_a_receipt() -> None:
    start = start_job()
    begin(start)
    with transaction() as connection:
        ledger.record_receipt(connection, KEY, {})
    assert begin(start) == {}


def test_an_effect_that_began_and_never_told_is_unknown_to_the_next_start() -> None:
    lost, owner = taken_over()
    with transaction() as connection:
        ledger.lose(connection, owner, A_FAILURE)
    first = start_job(lost.job_id)
    begin(first)
    with transaction() as connection:
        ledger.lose(connection, first, A_FAILURE)
    with pytest.raises(ledger.EffectUnknown):
        begin(start_job(lost.job_id))
    assert state() == "started"


def test_a_start_that_never_heard_of_its_commit_may_begin_again() -> None:
    start = start_job()
    assert begin(start) is None
    assert begin(start) is None


def test_what_another_job_of_the_same_message_began_is_unknown() -> None:
    start = start_job()
    begin(start)
    with pytest.raises(ledger.EffectUnknown):
        begin(replace(start_job(), token=start.token))


def test_a_start_that_lost_its_job_does_not_begin_what_it_had_begun() -> None:
    start = start_job()
    begin(start)
    with transaction() as connection:
        ledger.lose(connection, start, A_FAILURE)
    with pytest.raises(ledger.LeaseLost):
        begin(start)


@pytest.mark.parametrize("move", [ledger.forget_effect, ledger.doubt_effect])
def test_a_start_that_wakes_up_late_settles_nothing_of_what_the_next_one_began(move: Any) -> None:
    lost, owner = taken_over()
    begin(owner)
    with transaction() as connection:
        move(connection, lost, KEY)
    assert state() == "started"


def test_a_start_that_lost_its_job_does_not_begin() -> None:
    lost, owner = taken_over()
    with pytest.raises(ledger.LeaseLost):
        begin(lost)
    assert key_row(KEY) is None
    assert begin(owner) is None


def test_a_start_that_lost_its_job_does_not_begin_an_effect_set_free_by_an_operator() -> None:
    lost, owner = taken_over()
    begin(owner)
    with transaction() as connection:
        ledger.doubt_effect(connection, owner, KEY)
        letter = ledger.bury(connection, owner, A_FAILURE, _unknown(owner))
        ledger.resolve(connection, letter, happened=False, actor="operator")
    with pytest.raises(ledger.LeaseLost):
        begin(lost)
    assert state() == "reserved"
    assert begin(start_job(owner.job_id)) is None


def test_a_late_receipt_is_recorded_although_the_lease_is_gone() -> None:
    lost = start_job()
    begin(lost)
    with transaction() as connection:
        ledger.lose(connection, lost, A_FAILURE)
    owner = start_job(lost.job_id)
    with transaction() as connection:
        ledger.record_receipt(connection, KEY, {"message_id": "late"})
    assert begin(owner) == {"message_id": "late"}


def test_a_late_receipt_settles_a_doubt() -> None:
    start = start_job()
    begin(start)
    with transaction() as connection:
        ledger.doubt_effect(connection, start, KEY)
    with pytest.raises(ledger.EffectUnknown):
        begin(start)
    with transaction() as connection:
        ledger.record_receipt(connection, KEY, {"message_id": "late"})
    assert begin(start) == {"message_id": "late"}


def test_an_effect_that_certainly_did_not_happen_may_begin_again() -> None:
    start = start_job()
    begin(start)
    with transaction() as connection:
        ledger.forget_effect(connection, start, KEY)
    assert begin(start) is None


@pytest.mark.parametrize("move", [ledger.forget_effect, ledger.doubt_effect])
def test_a_receipt_is_never_taken_back(move: Any) -> None:
    start = start_job()
    begin(start)
    with transaction() as connection:
        ledger.record_receipt(connection, KEY, {"message_id": "a"})
        move(connection, start, KEY)
    assert begin(start) == {"message_id": "a"}


def test_a_doubt_is_not_forgotten() -> None:
    start = start_job()
    begin(start)
    with transaction() as connection:
        ledger.doubt_effect(connection, start, KEY)
        ledger.forget_effect(connection, start, KEY)
    assert state() == "unknown"


def test_of_two_jobs_that_share_a_key_one_begins() -> None:
    starts = [start_job(), start_job()]

    def try_to_begin(number: int) -> bool:
        try:
            return begin(starts[number]) is None
        except ledger.LedgerError:
            return False

    assert sum(at_once(try_to_begin, times=2)) == 1


def _unknown(start: ledger.Start) -> ledger.Letter:
    return ledger.Letter(
        start.job_id, start.type, "default", "tests", "outcome_unknown", "a_code", "A message."
    )
