"""A database that goes away in the middle of a job is nobody's bug."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError, OperationalError

from db.ledger import Start
from tasks.emails import send_email
from tasks.engine.verdict import DATABASE_WAIT, Bury, Park, judge

START = Start(
    "job", "token", "worker", "emails.send_email", "email", {}, 1, 1, 0, 0, None, "system", datetime.now(UTC)
)
AWAY = OperationalError("SELECT 1", {}, Exception("terminating connection"))


def test_the_job_is_tried_again() -> None:
    verdict: Any = judge(send_email, START, AWAY)
    assert isinstance(verdict, Park)
    assert (verdict.delay, verdict.failure.code) == (DATABASE_WAIT, "database_away")


def test_it_is_not_tried_for_ever() -> None:
    verdict: Any = judge(send_email, replace(START, failures=send_email.retry_policy.max_retries), AWAY)
    assert isinstance(verdict, Bury)
    assert verdict.letter.reason == "retries_exhausted"


@pytest.mark.parametrize("error", [IntegrityError("INSERT", {}, Exception("unique")), ZeroDivisionError()])
def test_a_statement_that_is_wrong_is_a_bug(error: Exception) -> None:
    verdict: Any = judge(send_email, START, error)
    assert isinstance(verdict, Bury)
    assert verdict.letter.reason == "bug"
