"""Recurring jobs: which slot is due, and that it runs once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cronsim import CronSimError
from sqlalchemy import func, select

from db.engine import reading
from db.models import Job
from tasks.engine.recurring import Recurring
from tasks.housekeeping import Nothing, tidy
from tasks.schedule import SCHEDULE
from tests.support.databases import on_both_databases


def line(cron: str, *, timezone: str = "UTC", catch_up: timedelta = timedelta(hours=1)) -> Recurring:
    return Recurring(
        name="test", cron=cron, timezone=timezone, job=tidy, payload=Nothing(), catch_up=catch_up
    )


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_slot_is_due_in_its_own_second() -> None:
    assert line("0 9 * * 1-5").latest(utc("2026-11-30 09:00:00")) == utc("2026-11-30 09:00")
    assert line("0 9 * * 1-5").latest(utc("2026-11-30 08:59:59")) is None


def test_a_missed_slot_is_made_up_for_within_catch_up_only() -> None:
    assert line("0 9 * * *").latest(utc("2026-11-30 09:59:00")) == utc("2026-11-30 09:00")
    assert line("0 9 * * *").latest(utc("2026-11-30 10:01:00")) is None


def test_only_the_latest_of_several_missed_slots_is_made_up_for() -> None:
    assert line("*/10 * * * *").latest(utc("2026-11-30 09:35:00")) == utc("2026-11-30 09:30")


@pytest.mark.parametrize(
    ("moment", "slot"),
    [
        # Winter: Berlin is an hour ahead of UTC; summer: two.
        ("2026-01-05 08:00:00", "2026-01-05 08:00"),
        ("2026-07-06 07:00:00", "2026-07-06 07:00"),
    ],
)
def test_nine_in_berlin_is_nine_in_berlin_all_year(moment: str, slot: str) -> None:
    assert line("0 9 * * 1-5", timezone="Europe/Berlin").latest(utc(moment)) == utc(slot)


def test_a_time_that_the_clock_skips_runs_right_after_the_gap() -> None:
    # On 29 March 2026 Berlin's clock goes from 02:00 to 03:00, which is 01:00 UTC.
    berlin = line("30 2 * * *", timezone="Europe/Berlin")
    assert berlin.latest(utc("2026-03-29 01:10:00")) == utc("2026-03-29 01:00")


def test_a_time_that_comes_twice_is_one_slot() -> None:
    # On 25 October 2026 Berlin's clock shows 02:30 at 00:30 and again at 01:30 UTC.
    berlin = line("30 2 * * *", timezone="Europe/Berlin", catch_up=timedelta(hours=3))
    assert berlin.latest(utc("2026-10-25 00:30:00")) == utc("2026-10-25 00:30")
    assert berlin.latest(utc("2026-10-25 01:45:00")) == utc("2026-10-25 00:30")


def test_a_bad_expression_is_refused_where_it_is_written() -> None:
    with pytest.raises(CronSimError):
        line("61 * * * *")


@on_both_databases
def test_ten_beats_enqueue_a_slot_once(database: str) -> None:
    moment = utc("2026-11-30 09:00:05")
    with ThreadPoolExecutor(10) as beats:
        ran = list(beats.map(lambda _: line("0 9 * * *").run_latest(moment), range(10)))
    assert sum(ran) == 1
    with reading() as session:
        assert session.scalar(select(func.count()).select_from(Job)) == 1


def test_the_next_slot_runs_again(database: str) -> None:
    hourly = line("0 * * * *")
    assert hourly.run_latest(utc("2026-11-30 09:00:00"))
    assert not hourly.run_latest(utc("2026-11-30 09:30:00"))
    assert hourly.run_latest(utc("2026-11-30 10:00:00"))


@pytest.mark.parametrize(("one_at_a_time", "jobs"), [(True, 1), (False, 2)])
def test_a_slot_may_leave_out_its_run_while_the_last_one_has_not_ended(
    database: str, one_at_a_time: bool, jobs: int
) -> None:
    hourly = replace(line("0 * * * *"), one_at_a_time=one_at_a_time)
    for hour in (9, 10):
        assert hourly.run_latest(utc(f"2026-11-30 {hour:02}:00:00"))
    with reading() as session:
        assert session.scalar(select(func.count()).select_from(Job)) == jobs


def test_no_two_lines_of_the_schedule_share_a_name() -> None:
    names = [entry.name for entry in SCHEDULE]
    assert len(names) == len(set(names))
