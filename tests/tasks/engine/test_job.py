"""Declaring a job: what cannot work is refused at import."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from services.errors import Transient
from tasks.engine import Payload, Run, job
from tasks.engine.celery import app
from tasks.engine.job import JOBS, JobType, RetryPolicy
from tasks.engine.limits import TooHeavy


class Nothing(Payload):
    """No content."""


def body(_nothing: Nothing, _run: Run) -> None:
    """Do nothing."""


@pytest.fixture(autouse=True)
def nothing_stays_declared() -> Iterator[None]:
    before = set(JOBS)
    yield
    for name in set(JOBS) - before:
        del JOBS[name]
        del app.tasks[name]


def declare(**options: Any) -> JobType[Nothing]:
    usual: dict[str, Any] = {
        "queue": "default",
        "payload": Nothing,
        "owner": "tests",
        "time_limit": 10,
        "name": "tests.declared",
    }
    return job(**{**usual, **options})(body)


def test_a_declaration_becomes_a_celery_task_with_celerys_own_options() -> None:
    declared = declare(time_limit=20, soft_time_limit=15, max_retries=2)
    assert app.tasks["tests.declared"] is declared
    assert (declared.time_limit, declared.soft_time_limit, declared.max_retries) == (20, 15, 2)
    assert (declared.acks_late, declared.queue, declared.owner) == (True, "default", "tests")
    assert declared.__doc__ == "Do nothing."


@pytest.mark.parametrize("option", ["max_retry", "retry_back_off", "timelimit", "acks_late", "bind"])
def test_a_mistyped_or_foreign_option_is_refused(option: str) -> None:
    with pytest.raises(TypeError, match=option):
        declare(**{option: 1})


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"soft_time_limit": 10}, ValueError),
        ({"soft_time_limit": 11}, ValueError),
        ({"soft_time_limit": -1}, ValueError),
        ({"time_limit": 1}, ValueError),
        ({"queue": "emial"}, ValueError),
        ({"priority": "urgent"}, ValueError),
        ({"rate_limit": "50/minute"}, ValueError),
        ({"weight": lambda _: 2}, ValueError),
        ({"rate_limit": "50/m", "weight": 2}, TypeError),
    ],
)
def test_what_cannot_work_is_refused(wrong: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        declare(**wrong)
    assert "tests.declared" not in JOBS


def test_a_missing_option_is_refused() -> None:
    with pytest.raises(TypeError, match="owner"):
        job(queue="default", payload=Nothing, time_limit=10)  # type: ignore[call-arg]  # that is what is refused


def test_two_jobs_of_one_name_are_refused() -> None:
    declare()
    with pytest.raises(ValueError, match=r"tests\.declared"):
        declare()


@pytest.mark.parametrize("other", ["51/m", None])
def test_job_types_of_one_rate_key_that_name_different_limits_are_refused(other: str | None) -> None:
    declare(name="tests.first", rate_key="tests.key", rate_limit="50/m")
    declare(name="tests.second", rate_key="tests.key", rate_limit="50/m")
    with pytest.raises(ValueError, match=r"tests\.key"):
        declare(rate_key="tests.key", rate_limit=other)


def test_a_job_without_a_weight_counts_once() -> None:
    assert declare(rate_limit="50/m").weigh(Nothing()) == 1


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "3", None])
def test_a_weight_is_a_whole_number_above_zero(wrong: object) -> None:
    with pytest.raises(ValueError, match="weight"):
        declare(rate_limit="50/m", weight=lambda _: wrong).weigh(Nothing())


def test_a_job_may_weigh_as_much_as_its_limit_and_no_more(settings: object) -> None:
    assert declare(rate_limit="50/m", weight=lambda _: 50).weigh(Nothing()) == 50
    with pytest.raises(TooHeavy, match=r"weighs 51.* 50 "):
        declare(rate_limit="50/m", weight=lambda _: 51, name="tests.heavier").weigh(Nothing())


def test_the_soft_limit_defaults_to_nine_tenths_of_the_hard_one() -> None:
    assert declare(time_limit=100).soft_time_limit == 90


def test_the_name_is_the_module_and_the_function() -> None:
    declared = declare(name=None)
    assert declared.name == f"{__name__}.body"


def test_every_transient_error_is_retried_besides_those_named() -> None:
    assert declare(autoretry_for=(OSError,)).retry_policy.autoretry_for == (Transient, OSError)


def test_celerys_way_around_the_ledger_is_closed() -> None:
    declared = declare()
    with pytest.raises(TypeError, match="unit_of_work"):
        declared.apply_async(args=["1"])


def test_without_jitter_the_wait_doubles_up_to_its_limit() -> None:
    policy = RetryPolicy((), 10, retry_backoff=10, retry_backoff_max=60, retry_jitter=False)
    assert [policy.delay(failures).total_seconds() for failures in range(5)] == [10, 20, 40, 60, 60]


def test_jitter_stays_between_a_second_and_the_limit() -> None:
    policy = RetryPolicy((), 10, retry_backoff=10, retry_backoff_max=60, retry_jitter=True)
    waits = [policy.delay(failures) for failures in range(8) for _ in range(50)]
    assert min(waits) >= timedelta(seconds=1)
    assert max(waits) <= timedelta(seconds=60)
    assert len(set(waits)) > 10
