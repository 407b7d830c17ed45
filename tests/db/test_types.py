"""Times and ids, equal on both databases."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.exc import StatementError

from db.engine import transaction
from db.ledger.tables import jobs
from db.models import EmailDelivery
from db.types import new_id, now
from tests.support.databases import on_both_databases
from tests.support.ledger import add_job, job_row

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]

TOLERANCE = timedelta(seconds=5)


def test_the_databases_clock_is_utc_and_can_look_ahead() -> None:
    with transaction() as connection:
        at_once, later = connection.execute(select(now(), now(timedelta(minutes=10)))).one()
    assert at_once.utcoffset() == timedelta()
    assert abs(at_once - datetime.now(UTC)) < TOLERANCE
    assert abs(later - at_once - timedelta(minutes=10)) < timedelta(seconds=1)


def test_the_databases_clock_moves_on_within_a_transaction() -> None:
    with transaction() as connection:
        first = connection.execute(select(now())).scalar_one()
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_sleep(0.02)"))
        else:
            while connection.execute(select(now())).scalar_one() == first:
                pass
        assert connection.execute(select(now())).scalar_one() > first


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(StatementError, match="time zone"):
        add_job(run_at=datetime(2030, 1, 1))  # noqa: DTZ001  # that is the mistake


def test_a_time_comes_back_as_the_same_moment_in_utc() -> None:
    moment = datetime(2030, 1, 1, 12, 30, 15, 250_000, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    stored = job_row(add_job(run_at=moment)).due_at
    assert abs(stored - moment) < timedelta(milliseconds=1)
    assert stored.utcoffset() == timedelta()


def test_times_compare_with_the_databases_clock() -> None:
    past, future = (add_job(run_at=datetime.now(UTC) + timedelta(minutes=sign)) for sign in (-1, 1))
    with transaction() as connection:
        due = connection.execute(select(jobs.c.id).where(jobs.c.due_at <= now())).scalars().all()
    assert list(due) == [past]
    assert future not in due


def test_no_time_is_null_and_no_result_is_sqls_null() -> None:
    job_id = add_job()
    with transaction() as connection:
        query = text("SELECT COUNT(*) FROM jobs WHERE result IS NULL AND started_at IS NULL")
        assert connection.execute(query).scalar_one() == 1
    assert job_row(job_id).started_at is None


def test_ids_sort_by_time() -> None:
    ids = [new_id() for _ in range(1000)]
    assert ids == sorted(ids)
    assert len(set(ids)) == 1000


def test_rows_get_the_databases_time() -> None:
    with transaction() as connection:
        connection.execute(
            insert(EmailDelivery).values(template="welcome", to_email="a@b.test", context={}, created_by="t")
        )
        created = connection.execute(select(EmailDelivery.created_at)).scalar_one()
    assert abs(created - datetime.now(UTC)) < TOLERANCE


def test_an_index_can_be_searched_by_the_databases_clock() -> None:
    due = select(jobs.c.id).where(jobs.c.due_at <= now())
    with transaction() as connection:
        if connection.dialect.name == "postgresql":
            # The table is empty, so reading all of it would be cheaper.
            connection.execute(text("SET LOCAL enable_seqscan = off"))
            plan = "EXPLAIN"
        else:
            plan = "EXPLAIN QUERY PLAN"
        compiled = due.compile(connection, compile_kwargs={"literal_binds": True})
        shown = str(connection.execute(text(f"{plan} {compiled}")).all())
    assert "ix_jobs_due" in shown
    assert (
        "due_at<?" in shown
        or "Index Cond: ((due_at IS NOT NULL) AND (due_at <=" in shown
        or "Index Cond: (due_at <=" in shown
    )
