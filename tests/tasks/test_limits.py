"""Limits over all workers: no window ever holds more starts than it may."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from config.rates import Rate
from db import ledger
from db.engine import autocommit, reading
from db.models import Job
from services.errors import SenderOutage, Throttled
from tasks.engine import JobType, Payload, Run, UnitOfWork, job, unit_of_work
from tasks.engine.limits import Limit, LimitsUnavailable, freeze
from tasks.engine.runner import run_job

TEN_PER_SECOND = Limit("test", Rate.parse("10/s"))


class Nothing(Payload):
    """No content."""


@job(queue="default", payload=Nothing, owner="tests", time_limit=10, rate_limit="2/m", name="tests.limited")
def limited(_nothing: Nothing, _run: Run) -> None:
    """Two a minute."""


@job(
    queue="default",
    payload=Nothing,
    owner="tests",
    time_limit=10,
    rate_limit="2/m",
    rate_key="t",
    name="tests.throttled",
)
def throttled(_nothing: Nothing, _run: Run) -> None:
    """The other side asks for patience."""
    raise Throttled("slow down", retry_after=timedelta(seconds=90))


@job(
    queue="default",
    payload=Nothing,
    owner="tests",
    time_limit=10,
    rate_limit="2/m",
    rate_key="t",
    name="tests.shares",
)
def shares(_nothing: Nothing, _run: Run) -> None:
    """Has the same key."""


@job(queue="default", payload=Nothing, owner="tests", time_limit=10, rate_limit="9/m", name="tests.outage")
def outage(_nothing: Nothing, _run: Run) -> None:
    """Our key is wrong."""
    raise SenderOutage("wrong key")


@job(queue="default", payload=Nothing, owner="tests", time_limit=10, rate_key="smtp", name="tests.unlimited")
def unlimited(_nothing: Nothing, _run: Run) -> None:
    """Has a key and no rate."""


def find(job_id: str) -> Job:
    with reading() as session:
        found = session.get(Job, job_id)
    assert found is not None
    return found


def enqueue(job_type: Callable[..., object]) -> str:
    with unit_of_work() as work:
        return _add(work, job_type)


def _add(work: UnitOfWork, job_type: object) -> str:
    return work.enqueue(job_type, Nothing()).id  # type: ignore[arg-type]  # one of the jobs above


def test_as_many_as_the_rate_start_at_once_and_the_next_waits_a_window(broker: str) -> None:
    waits = [TEN_PER_SECOND.reserve(f"job-{number}") for number in range(11)]
    assert waits[:10] == [timedelta()] * 10
    assert waits[10] > timedelta(seconds=1)


def test_asking_again_before_its_time_gives_the_rest_of_the_wait_and_takes_no_second_place(
    broker: str,
) -> None:
    for number in range(10):
        TEN_PER_SECOND.reserve(f"job-{number}")
    first = TEN_PER_SECOND.reserve("waiting")
    again = [TEN_PER_SECOND.reserve("waiting") for _ in range(20)]
    assert all(wait <= first for wait in again)
    assert TEN_PER_SECOND.reserve("next") < first + timedelta(seconds=1)


def test_three_asking_at_once_never_start_more_than_the_rate_in_any_window(broker: str) -> None:
    def start(number: int) -> float:
        while wait := TEN_PER_SECOND.reserve(f"job-{number}"):
            time.sleep(wait.total_seconds())
        return time.monotonic()

    with ThreadPoolExecutor(3) as workers:
        starts = list(workers.map(start, range(35)))
    starts.sort()
    assert len(starts) == 35
    # The eleventh of any run of starts comes a second after the first, but for the way from Redis to here.
    assert all(later - first >= 0.98 for first, later in zip(starts, starts[10:], strict=False))


def test_what_piled_up_in_a_pause_does_not_start_at_once(broker: str) -> None:
    limit = Limit("late", Rate.parse("1/s"))
    jobs = ["first", "second", "third", "fourth"]
    waits = [limit.reserve(name) for name in jobs]
    # Everybody is late by more than a window.
    time.sleep(waits[-1].total_seconds() + 1.5)
    late = [limit.reserve(name) for name in jobs[1:]]
    assert late[0] == timedelta()
    assert late[1] > timedelta(seconds=0.9)
    assert late[2] > late[1] + timedelta(seconds=1)


def test_who_is_a_little_late_keeps_its_place_before_those_who_come_later(broker: str) -> None:
    limit = Limit("late", Rate.parse("1/s"))
    limit.reserve("first")
    wait = limit.reserve("second")
    limit.reserve("third")
    time.sleep(wait.total_seconds() + 0.3)
    assert limit.reserve("second") == timedelta()


def test_starts_are_a_margin_further_apart_than_a_window_because_a_body_begins_after_its_reservation(
    broker: str,
) -> None:
    limit = Limit("late", Rate.parse("1/s"))
    limit.reserve("first")
    second, third = limit.reserve("second"), limit.reserve("third")
    asked_at = time.monotonic()
    # Late, so that the third's turn comes hardly a window after the second's start.
    time.sleep(second.total_seconds() + 0.7)
    began = time.monotonic()
    assert limit.reserve("second") == timedelta()
    time.sleep(max(0, asked_at + third.total_seconds() - time.monotonic()))
    while wait := limit.reserve("third"):
        time.sleep(wait.total_seconds())
    assert time.monotonic() - began >= (limit.rate.per + limit.margin).total_seconds()  # type: ignore[union-attr]


def test_a_frozen_key_starts_nobody(broker: str) -> None:
    freeze("test", timedelta(seconds=30))
    freeze("test", timedelta(seconds=1))
    assert timedelta(seconds=28) < TEN_PER_SECOND.reserve("job") <= timedelta(seconds=30)


def test_without_its_redis_a_limit_lets_nobody_start(settings: object) -> None:
    with pytest.raises(LimitsUnavailable):
        TEN_PER_SECOND.reserve("job")


def test_a_job_beyond_the_rate_waits_in_the_ledger_and_no_attempt_is_counted(
    database: str, broker: str
) -> None:
    ids = [enqueue(limited) for _ in range(3)]
    for job_id in ids:
        run_job(limited, job_id)
    states = [(find(job_id).state, find(job_id).attempts) for job_id in ids]
    assert states == [("succeeded", 1), ("succeeded", 1), ("waiting", 0)]


def test_a_repeated_message_for_a_parked_job_changes_nothing(database: str, broker: str) -> None:
    ids = [enqueue(limited) for _ in range(3)]
    for job_id in [*ids, ids[2], ids[2]]:
        run_job(limited, job_id)
    parked = find(ids[2])
    assert (parked.state, parked.attempts) == ("waiting", 0)


def test_a_429_freezes_the_key_for_everybody_and_charges_nobody(database: str, broker: str) -> None:
    asked, other = enqueue(throttled), enqueue(shares)
    run_job(throttled, asked)
    run_job(shares, other)
    assert (find(asked).state, find(asked).failures) == ("waiting", 0)
    assert (find(other).state, find(other).attempts) == ("waiting", 0)


def test_an_outage_on_our_side_makes_the_others_wait(database: str, broker: str) -> None:
    first, second = enqueue(outage), enqueue(outage)
    run_job(outage, first)
    run_job(outage, second)
    assert (find(second).state, find(second).attempts) == ("waiting", 0)


def test_holding_back_leaves_a_running_job_alone(database: str, broker: str) -> None:
    job_id = enqueue(limited)
    with autocommit() as connection:
        ledger.claim(connection, job_id, worker="w", lease=timedelta(seconds=30))
        assert not ledger.hold_back(connection, job_id, delay=timedelta(seconds=5))
    assert find(job_id).state == "running"


def test_a_key_without_a_rate_waits_for_a_freeze_only(broker: str) -> None:
    limit = Limit("smtp", None)
    assert [limit.reserve(f"job-{number}") for number in range(100)] == [timedelta()] * 100
    freeze("smtp", timedelta(seconds=30))
    assert limit.reserve("job") > timedelta(seconds=28)


@pytest.mark.parametrize(("kind", "state"), [(limited, "waiting"), (unlimited, "succeeded")])
def test_without_the_redis_of_the_limits_only_jobs_with_a_rate_wait(
    database: str, kind: JobType[Nothing], state: str
) -> None:
    job_id = enqueue(kind)
    run_job(kind, job_id)
    assert find(job_id).state == state


def test_a_broker_that_is_no_redis_needs_one_for_rates(
    database: str, configure: Callable[..., object]
) -> None:
    configure(DATABASE_URL=database, BROKER_URL="amqp://127.0.0.1:1", REDIS_URL="")
    with pytest.raises(LimitsUnavailable, match="REDIS_URL"):
        TEN_PER_SECOND.reserve("job")
