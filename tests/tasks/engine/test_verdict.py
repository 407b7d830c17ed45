"""What each kind of error means for its job."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded, TimeLimitExceeded
from sqlalchemy.exc import OperationalError, StatementError

from db.ledger import Start
from services.errors import OutcomeUnknown, Permanent, SenderOutage, Transient
from tasks.engine import NotYet
from tasks.engine.payload import PayloadInvalid, PayloadTooNew
from tasks.engine.verdict import NEWER_WAIT, OUTAGE_WAIT, Bury, Lose, Park, Verdict, WorkerLost, judge
from tests.support.jobs import scripted

START = Start(
    job_id="1",
    token="t",
    worker="w",
    type="tests.scripted",
    queue="default",
    payload={},
    payload_version=1,
    attempt=1,
    failures=0,
    losses=0,
    batch_id=None,
    created_by="token:1",
    started_at=datetime(2030, 1, 1, tzinfo=UTC),
)
MINUTE = timedelta(minutes=1)
CONTENT = "someone@secret.test"


def verdict(error: BaseException, **start: Any) -> Verdict:
    return judge(scripted, replace(START, **start), error)


@pytest.mark.parametrize(
    ("error", "reason", "code"),
    [
        (Permanent("never"), "permanent", "permanent"),
        (OutcomeUnknown("who knows"), "outcome_unknown", "outcome_unknown"),
        (ZeroDivisionError("secret"), "bug", "bug"),
        (KeyError("secret"), "bug", "bug"),
        (PayloadInvalid("file_id: missing"), "permanent", "payload_invalid"),
    ],
)
def test_what_no_retry_can_mend_goes_to_people_at_once(error: Exception, reason: str, code: str) -> None:
    found = verdict(error)
    assert isinstance(found, Bury)
    assert (found.letter.reason, found.failure.code, found.letter.code) == (reason, code, code)
    assert (found.letter.owner, found.letter.job_id) == ("tests", "1")


@pytest.mark.parametrize("error", [Transient("later"), SoftTimeLimitExceeded(), TimeLimitExceeded(20)])
def test_what_may_work_later_waits_and_is_counted(error: Exception) -> None:
    found = verdict(error)
    assert isinstance(found, Park)
    assert found.charge
    assert found.delay == timedelta(seconds=1)


def test_a_soft_limit_that_struck_inside_sqlalchemy_is_one_under_whatever_name() -> None:
    error = StatementError("interrupted", "SELECT 1", {}, None)
    error.__cause__ = SoftTimeLimitExceeded()
    assert verdict(error) == verdict(SoftTimeLimitExceeded())
    # What the job's own code makes of it is for that code to say.
    refusal = Permanent("too large")
    refusal.__context__ = SoftTimeLimitExceeded()
    assert isinstance(verdict(refusal), Bury)


@pytest.mark.parametrize("error", [Transient("later"), SoftTimeLimitExceeded(), TimeLimitExceeded(20)])
def test_the_last_allowed_failure_goes_to_people(error: Exception) -> None:
    assert isinstance(verdict(error, failures=2), Park)
    found = verdict(error, failures=3)
    assert isinstance(found, Bury)
    assert found.letter.reason == "retries_exhausted"


@pytest.mark.parametrize(
    ("failures", "named", "expected"),
    [(0, 30, 30), (2, 1, 4), (2, None, 4), (0, 7200, 7200)],
)
def test_the_longer_of_backoff_and_what_the_provider_named_counts(
    failures: int, named: int | None, expected: int
) -> None:
    error = Transient("later", retry_after=None if named is None else timedelta(seconds=named))
    found = verdict(error, failures=failures)
    assert isinstance(found, Park)
    assert found.delay == timedelta(seconds=expected)


@pytest.mark.parametrize(
    ("error", "wait"),
    [
        (SenderOutage("no credit"), OUTAGE_WAIT),
        (SenderOutage("no credit", retry_after=MINUTE), MINUTE),
        (PayloadTooNew("version 2"), NEWER_WAIT),
        (NotYet("the canary sings", wait=MINUTE), MINUTE),
    ],
)
@pytest.mark.parametrize("failures", [0, 100])
def test_what_is_not_the_jobs_fault_costs_it_nothing_however_often(
    error: Exception, wait: timedelta, failures: int
) -> None:
    found = verdict(error, failures=failures)
    assert isinstance(found, Park)
    assert (found.charge, found.delay) == (False, wait)


def test_the_third_unexplained_end_is_the_jobs_own_fault() -> None:
    assert isinstance(verdict(WorkerLost()), Lose)
    assert isinstance(verdict(WorkerLost(), losses=1), Lose)
    found = verdict(WorkerLost(), losses=2)
    assert isinstance(found, Bury)
    assert found.letter.reason == "worker_lost"


def test_a_database_that_went_away_during_the_work_is_no_bug() -> None:
    assert isinstance(verdict(OperationalError("SELECT 1", {}, Exception("gone"))), Park)


def test_a_bugs_own_text_is_never_kept_only_its_place() -> None:
    def explode() -> None:
        raise ValueError(CONTENT)

    try:
        explode()
    except ValueError as error:
        found = verdict(error)
    assert isinstance(found, Bury)
    texts = f"{found.failure} {found.letter}"
    assert "secret" not in texts
    assert "ValueError" in texts
    assert "in explode" in texts


def test_a_traceback_shows_the_cause_behind_the_error() -> None:
    try:
        try:
            raise OSError(CONTENT)
        except OSError as cause:
            raise Transient("The mail server does not answer.") from cause
    except Transient as error:
        found = verdict(error, failures=3)
    assert isinstance(found, Bury)
    trace = found.letter.traceback or ""
    assert trace.index("Transient") < trace.index("OSError")
    assert "secret" not in trace
