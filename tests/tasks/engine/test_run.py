"""What a body may ask for: an effect once, rows with its success, checkpoints."""

from collections.abc import Iterator
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from sqlalchemy import Engine, event, func, select, text
from sqlalchemy.exc import OperationalError

from db import ledger
from db.engine import autocommit, get_engine, transaction
from db.models import StoredFile
from services.errors import OutcomeUnknown, Permanent, ServiceError, Transient
from tasks.engine.patience import until_database_answers
from tasks.engine.run import Effect, JobCancelled, Run
from tests.support.databases import on_both_databases
from tests.support.ledger import A_FAILURE, job_row, key_row, start_job

pytestmark = pytest.mark.usefixtures("database")

KEY = "email:1"


@pytest.fixture
def run(database: str) -> Iterator[Run]:
    run = Run(start_job())
    yield run
    run.close()


def state() -> str | None:
    row = key_row(KEY)
    return None if row is None else row.state


def act(run: Run, error: BaseException | None = None, receipt: dict[str, Any] | None = None) -> Effect:
    with run.once(KEY) as effect:
        if error is not None:
            raise error
        effect.receipt = effect.receipt or receipt
    return effect


def test_the_receipt_is_kept_and_answers_a_repetition(run: Run) -> None:
    assert act(run, receipt={"id": "a"}).receipt == {"id": "a"}
    assert act(run, receipt={"id": "b"}).receipt == {"id": "a"}
    assert state() == "done"


def test_the_effect_is_recorded_as_begun_before_it_happens(run: Run) -> None:
    with run.once(KEY) as effect:
        assert effect.receipt is None
        assert state() == "started"
        effect.receipt = {}


@pytest.mark.parametrize("error", [Transient("refused"), Permanent("refused")])
def test_an_error_that_says_it_did_not_happen_sets_the_effect_free(run: Run, error: ServiceError) -> None:
    with pytest.raises(type(error)):
        act(run, error)
    assert state() is None
    assert act(run, receipt={"id": "b"}).receipt == {"id": "b"}


@pytest.mark.parametrize(
    "error",
    [
        OutcomeUnknown("cut off"),
        ZeroDivisionError(),
        SoftTimeLimitExceeded(),
        SystemExit(1),
        KeyboardInterrupt(),
    ],
)
def test_any_other_ending_leaves_a_doubt_that_later_starts_respect(run: Run, error: BaseException) -> None:
    with pytest.raises(OutcomeUnknown):
        act(run, error)
    assert state() == "unknown"
    with pytest.raises(OutcomeUnknown):
        act(run, receipt={"id": "b"})


@on_both_databases
def test_an_effect_whose_beginning_was_never_confirmed_happens_once(run: Run) -> None:
    lose_next_answer(get_engine())
    assert act(run, receipt={"id": "a"}).receipt == {"id": "a"}
    assert state() == "done"


@on_both_databases
def test_a_time_limit_before_the_beginning_is_confirmed_leaves_the_effect_to_the_next_start(
    run: Run,
) -> None:
    lose_next_answer(get_engine(), SoftTimeLimitExceeded())
    with pytest.raises(SoftTimeLimitExceeded):
        act(run, AssertionError("it acted"))
    assert state() is None


def test_a_start_that_lost_its_job_does_not_act(run: Run) -> None:
    with transaction() as connection:
        ledger.lose(connection, run.start, A_FAILURE)
    with pytest.raises(ledger.LeaseLost):
        act(run, AssertionError("it acted"))
    assert state() is None


def test_a_receipt_is_kept_although_the_job_was_lost_meanwhile(run: Run) -> None:
    with run.once(KEY) as effect:
        with transaction() as connection:
            ledger.lose(connection, run.start, A_FAILURE)
        effect.receipt = {"id": "a"}
    assert state() == "done"


def test_a_checkpoint_stops_a_cancelled_job(run: Run) -> None:
    run.checkpoint(10)
    with transaction() as connection:
        ledger.cancel(connection, run.job_id)
    with pytest.raises(JobCancelled):
        run.checkpoint(20)


def a_file(run: Run) -> StoredFile:
    return run.add(
        StoredFile(
            storage_key="k", name="n", media_type="text/plain", size=1, sha256="0", created_by=run.created_by
        )
    )


def files() -> int:
    with autocommit() as connection:
        return int(connection.execute(select(func.count()).select_from(StoredFile)).scalar_one())


@on_both_databases
def test_rows_are_committed_with_the_success(run: Run) -> None:
    a_file(run)
    assert files() == 0
    run.finish({"files": 1})
    assert files() == 1
    assert job_row(run.job_id).state == "succeeded"


@on_both_databases
def test_rows_of_a_start_that_lost_its_job_are_not_committed(run: Run) -> None:
    a_file(run)
    with transaction() as connection:
        ledger.lose(connection, run.start, A_FAILURE)
    with pytest.raises(ledger.LeaseLost):
        run.finish(None)
    assert files() == 0


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_rows_are_not_lost_when_the_first_commit_is_cut_off(run: Run) -> None:
    a_file(run)
    cut_off_next_commit(get_engine())
    until_database_answers(lambda: run.finish({"files": 1}))
    assert job_row(run.job_id).state == "succeeded"
    assert files() == 1


def cut_off_next_commit(engine: Engine) -> None:
    """The server closes the connection of the next transaction right before its commit."""

    def cut(connection: Any) -> None:
        backend = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with autocommit() as other:
            other.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": backend})

    event.listen(engine, "commit", cut, once=True)


def lose_next_answer(engine: Engine, error: Exception | None = None) -> None:
    """The next transaction is committed, and its caller is told otherwise."""

    def lose(connection: Any) -> None:
        connection.connection.commit()
        raise error or OperationalError("COMMIT", {}, Exception("the connection is gone"))

    event.listen(engine, "commit", lose, once=True)
