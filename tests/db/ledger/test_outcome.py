"""How a start ends, and that a start which no longer owns its job ends nothing."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import Connection

from db import ledger
from db.engine import transaction
from tests.support.databases import on_both_databases
from tests.support.ledger import (
    A_FAILURE,
    at_once,
    attempts_of,
    expire,
    job_row,
    letter_for,
    letters,
    pass_time,
    start_job,
)

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]

Move = Callable[[Connection, ledger.Start], object]

MOVES: dict[str, Move] = {
    "finish": lambda connection, start: ledger.finish(connection, start, {"by": start.token}),
    "park": lambda connection, start: ledger.park(connection, start, A_FAILURE, delay=timedelta(minutes=1)),
    "bury": lambda connection, start: ledger.bury(connection, start, A_FAILURE, letter_for(start)),
    "release": ledger.release,
    "lose": lambda connection, start: ledger.lose(connection, start, A_FAILURE),
    "stop": ledger.stop,
}
every_move = pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)


def do(move: Move, start: ledger.Start) -> None:
    with transaction() as connection:
        move(connection, start)


def test_finishing_stores_the_result_and_clears_what_failed_before() -> None:
    start = start_job()
    do(MOVES["park"], start)
    pass_time(start.job_id)
    do(MOVES["finish"], again := start_job(start.job_id))
    row = job_row(start.job_id)
    assert (row.state, row.result, row.progress) == ("succeeded", {"by": again.token}, 100)
    assert (row.error_code, row.error_message, row.due_at, row.lease_token) == (None, None, None, None)
    assert row.finished_at is not None


def test_parking_waits_counts_a_failure_and_leaves_an_attempt() -> None:
    start = start_job()
    do(MOVES["park"], start)
    row = job_row(start.job_id)
    assert (row.state, row.failures, row.error_code) == ("waiting", 1, "mailer_unavailable")
    assert row.due_at - row.started_at > timedelta(seconds=59)
    (attempt,) = attempts_of(start.job_id)
    assert (attempt.number, attempt.worker, attempt.outcome) == (1, start.worker, "failed")
    assert (attempt.error_code, attempt.traceback) == ("mailer_unavailable", "trace")
    assert attempt.started_at == start.started_at <= attempt.ended_at


def test_parking_free_of_charge_counts_no_failure() -> None:
    start = start_job()
    with transaction() as connection:
        ledger.park(connection, start, A_FAILURE, delay=timedelta(minutes=1), charge=False)
    assert job_row(start.job_id).failures == 0
    assert len(attempts_of(start.job_id)) == 1


def test_burying_opens_a_letter_in_the_same_transaction() -> None:
    start = start_job()
    do(MOVES["bury"], start)
    row = job_row(start.job_id)
    assert (row.state, row.due_at, row.lease_token) == ("dead", None, None)
    (letter,) = letters(job_id=start.job_id)
    assert (letter.reason, letter.owner, letter.resolution) == ("permanent", "tests", None)
    assert len(attempts_of(start.job_id)) == 1


def test_releasing_is_free_of_charge_and_due_at_once() -> None:
    start = start_job()
    do(MOVES["release"], start)
    row = job_row(start.job_id)
    assert (row.state, row.failures, row.losses, row.published_at) == ("queued", 0, 0, None)
    assert [attempt.outcome for attempt in attempts_of(start.job_id)] == ["released"]
    with transaction() as connection:
        assert [due.id for due in ledger.take_overdue(connection, limit=10)] == [start.job_id]


def test_losing_is_due_at_once_and_counted() -> None:
    start = start_job()
    do(MOVES["lose"], start)
    row = job_row(start.job_id)
    assert (row.state, row.failures, row.losses) == ("queued", 0, 1)


def test_stopping_ends_the_job_as_cancelled() -> None:
    start = start_job()
    do(MOVES["stop"], start)
    row = job_row(start.job_id)
    assert (row.state, row.due_at) == ("cancelled", None)
    assert row.finished_at is not None


@every_move
def test_a_stale_token_changes_nothing(move: Move) -> None:
    lost = start_job()
    do(MOVES["lose"], lost)
    owner = start_job(lost.job_id, worker="other@there:2")
    before = (job_row(lost.job_id), len(attempts_of(lost.job_id)), len(letters()))
    with pytest.raises(ledger.LeaseLost):
        do(move, lost)
    assert (job_row(lost.job_id), len(attempts_of(lost.job_id)), len(letters())) == before
    do(MOVES["finish"], owner)


@every_move
def test_an_ended_start_cannot_end_again(move: Move) -> None:
    start = start_job()
    do(MOVES["finish"], start)
    before = job_row(start.job_id)
    with pytest.raises(ledger.LeaseLost):
        do(move, start)
    assert job_row(start.job_id) == before
    assert letters() == []


def test_a_lease_that_ran_out_may_still_end_the_job_until_somebody_took_it_over() -> None:
    start = start_job()
    expire(start)
    do(MOVES["finish"], start)
    assert job_row(start.job_id).state == "succeeded"


def test_of_an_owner_and_a_taker_exactly_one_ends_the_start() -> None:
    start = start_job()
    expire(start)
    moves = [MOVES["finish"], MOVES["lose"], MOVES["bury"], MOVES["park"]]

    def end(number: int) -> bool:
        try:
            do(moves[number], start)
        except ledger.LeaseLost:
            return False
        return True

    assert sum(at_once(end, times=4)) == 1


@pytest.mark.parametrize("name", ["park", "release", "lose"])
def test_a_cancel_asked_for_meanwhile_ends_the_job_instead_of_another_start(name: str) -> None:
    start = start_job()
    with transaction() as connection:
        assert ledger.cancel(connection, start.job_id) == "running"
    do(MOVES[name], start)
    row = job_row(start.job_id)
    assert (row.state, row.due_at, row.lease_token) == ("cancelled", None, None)
    assert row.finished_at is not None


def test_the_work_of_a_job_that_finished_before_its_checkpoint_is_kept_despite_a_cancel() -> None:
    start = start_job()
    with transaction() as connection:
        ledger.cancel(connection, start.job_id)
    do(MOVES["finish"], start)
    assert job_row(start.job_id).state == "succeeded"
