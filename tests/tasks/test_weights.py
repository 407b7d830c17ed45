"""Limits that weigh: what a job counts as under its limit, and what becomes of one that is too heavy for it."""

import random
import time
from datetime import timedelta

import pytest

from config.rates import Rate
from tasks.engine import Payload, Run, job, unit_of_work
from tasks.engine.bulk import run_bulk
from tasks.engine.limits import Limit, TooHeavy
from tasks.engine.runner import run_job
from tests.support.ledger import attempts_of, job_row, letters

TEN_PER_SECOND = Limit("weighed", Rate.parse("10/s"))


class Load(Payload):
    """How much the job is to weigh."""

    tokens: int


@job(
    queue="default",
    payload=Load,
    owner="tests",
    time_limit=10,
    rate_limit="1000/m",
    weight=lambda load: load.tokens,
    name="tests.weighed",
)
def weighed(_load: Load, _run: Run) -> None:
    """A thousand tokens a minute."""


@job(
    queue="default",
    payload=Load,
    owner="tests",
    time_limit=10,
    rate_key="tests.unset",
    weight=lambda load: load.tokens,
    name="tests.weighed_for_nothing",
)
def weighed_for_nothing(_load: Load, _run: Run) -> None:
    """Its rate key has no rate in this environment."""


def enqueue(tokens: int) -> str:
    with unit_of_work() as work:
        return work.enqueue(weighed, Load(tokens=tokens)).id


def test_a_heavy_job_counts_as_several(broker: str) -> None:
    assert TEN_PER_SECOND.reserve("heavy", weight=8) == timedelta()
    assert TEN_PER_SECOND.reserve("light-1", weight=2) == timedelta()
    assert TEN_PER_SECOND.reserve("light-2") > timedelta(seconds=1)


def test_a_window_holds_no_more_than_its_weight_whatever_the_single_jobs_weigh(broker: str) -> None:
    weights = random.Random(7).choices(range(1, 11), k=12)
    begun: list[tuple[float, int]] = []
    for number, weight in enumerate(weights):
        while wait := TEN_PER_SECOND.reserve(f"job-{number}", weight=weight):
            time.sleep(wait.total_seconds())
        begun.append((time.monotonic(), weight))
    for first, _ in begun:
        # But for the way from Redis to here.
        assert sum(weight for moment, weight in begun if first <= moment < first + 0.98) <= 10


def test_a_weight_of_a_billion_costs_redis_no_more_than_a_weight_of_one(broker: str) -> None:
    limit = Limit("bytes", Rate.parse("1000000000/h"))
    assert limit.reserve("half", weight=500_000_000) == timedelta()
    assert limit.reserve("other half", weight=500_000_000) == timedelta()
    assert limit.reserve("one byte") > timedelta(minutes=59)


def test_light_jobs_that_come_later_do_not_overtake_a_heavy_one(broker: str) -> None:
    TEN_PER_SECOND.reserve("first", weight=5)
    heavy = TEN_PER_SECOND.reserve("heavy", weight=10)
    assert heavy > timedelta(seconds=1)
    assert TEN_PER_SECOND.reserve("light") >= heavy - timedelta(milliseconds=100)


def test_more_than_the_limit_is_refused_instead_of_waiting_for_ever(broker: str) -> None:
    with pytest.raises(TooHeavy):
        TEN_PER_SECOND.reserve("job", weight=11)
    assert TEN_PER_SECOND.reserve("next", weight=10) == timedelta()


def test_jobs_start_until_their_weights_fill_the_window(database: str, broker: str) -> None:
    ids = [enqueue(600), enqueue(400), enqueue(1)]
    for job_id in ids:
        run_job(weighed, job_id)
    rows = [job_row(job_id) for job_id in ids]
    assert [(row.state, row.attempts) for row in rows] == [("succeeded", 1), ("succeeded", 1), ("waiting", 0)]


def test_the_bulk_lane_weighs_each_of_its_jobs(database: str, broker: str) -> None:
    ids = [enqueue(600), enqueue(600), enqueue(400), enqueue(1001)]
    run_bulk(weighed, ids)
    assert [job_row(job_id).state for job_id in ids] == ["succeeded", "waiting", "waiting", "dead"]


def test_a_job_heavier_than_its_limit_becomes_a_dead_letter_that_says_so_and_takes_no_place(
    database: str, broker: str
) -> None:
    heavy, other = enqueue(1001), enqueue(1000)
    run_job(weighed, heavy)
    run_job(weighed, other)
    row = job_row(heavy)
    assert (row.state, row.error_code, row.attempts) == ("dead", "too_heavy", 1)
    assert row.error_message.startswith("It weighs 1001")
    assert [letter.reason for letter in letters(job_id=heavy)] == ["permanent"]
    assert job_row(other).state == "succeeded"


def test_a_weight_that_cannot_be_told_is_a_bug_for_people_and_no_endless_wait(
    database: str, broker: str
) -> None:
    job_id = enqueue(0)
    run_job(weighed, job_id)
    assert (job_row(job_id).state, job_row(job_id).error_code) == ("dead", "bug")
    assert [attempt.outcome for attempt in attempts_of(job_id)] == ["failed"]


def test_a_rate_key_without_a_rate_lets_any_weight_start(database: str, broker: str) -> None:
    with unit_of_work() as work:
        job_id = work.enqueue(weighed_for_nothing, Load(tokens=10**9)).id
    run_job(weighed_for_nothing, job_id)
    assert job_row(job_id).state == "succeeded"
