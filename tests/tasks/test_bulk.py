"""The bulk lane: many jobs in one message, each with its own outcome."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from sqlalchemy import select, update

from db import ledger
from db.engine import autocommit, reading, transaction
from db.ledger.tables import jobs
from db.models import Attempt, DeadLetter, Job
from services.errors import Permanent, Transient
from tasks.engine import Payload, Run, job, unit_of_work
from tasks.engine.bulk import run_bulk
from tasks.engine.job import JobType
from tasks.engine.message import bundled
from tasks.engine.pauses import forget_pauses
from tests.support.databases import on_both_databases

SEEN: list[int] = []


class Numbered(Payload):
    """Which one it is, and what it does."""

    number: int
    act: str = "succeed"


@job(
    queue="email_bulk",
    payload=Numbered,
    owner="tests",
    time_limit=60,
    batch_size=4,
    max_retries=1,
    name="tests.bulk",
)
def bulk(numbered: Numbered, run: Run) -> dict[str, int] | None:
    """Act as told."""
    SEEN.append(numbered.number)
    match numbered.act:
        case "refuse":
            raise Permanent("never")
        case "wait":
            raise Transient("later")
        case "break":
            raise ZeroDivisionError
        case "too long":
            raise SoftTimeLimitExceeded
        case "effect":
            with run.once(f"bulk:{run.job_id}") as effect:
                effect.receipt = effect.receipt or {"number": numbered.number}
            return effect.receipt
        case "pause":
            pause("email_bulk")
        case "lose":
            with transaction() as connection:
                connection.execute(update(jobs).values(lease_token="another's"))
            raise ledger.LeaseLost(run.job_id)
    return None


@job(
    queue="email_bulk", payload=Numbered, owner="tests", time_limit=60, batch_size=4, name="tests.other_bulk"
)
def other(_numbered: Numbered, _run: Run) -> None:
    """Another type."""


@job(
    queue="email_bulk",
    payload=Numbered,
    owner="tests",
    time_limit=60,
    batch_size=4,
    rate_limit="1/h",
    name="tests.limited_bulk",
)
def limited(numbered: Numbered, _run: Run) -> None:
    """One an hour."""
    SEEN.append(numbered.number)


def pause(queue: str) -> None:
    with transaction() as connection:
        ledger.pause(connection, queue, actor="cli:ada")
    forget_pauses()


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    SEEN.clear()


def enqueue(*acts: str, kind: JobType[Numbered] = bulk) -> list[str]:
    with unit_of_work() as work:
        members = [(kind, Numbered(number=number, act=act)) for number, act in enumerate(acts)]
        return [handle.id for handle in work.enqueue_batch("test", members)]


def states(job_ids: Sequence[str]) -> list[str]:
    with reading() as session:
        found = {row.id: row.state for row in session.execute(select(Job.id, Job.state))}
    return [found[job_id] for job_id in job_ids]


@on_both_databases
def test_each_job_of_a_message_has_its_own_outcome(database: str) -> None:
    ids = enqueue("succeed", "refuse", "wait", "break", "effect", "succeed")
    run_bulk(bulk, ids)
    assert states(ids) == ["succeeded", "dead", "waiting", "dead", "succeeded", "succeeded"]
    with reading() as session:
        assert sorted(session.scalars(select(DeadLetter.reason))) == ["bug", "permanent"]
        assert len(session.scalars(select(Attempt)).all()) == 3
        assert session.get(Job, ids[4]).result == {"number": 4}  # type: ignore[union-attr]  # it is there


def test_they_run_in_order(database: str) -> None:
    run_bulk(bulk, enqueue(*["succeed"] * 6))
    assert SEEN == [0, 1, 2, 3, 4, 5]


def test_what_is_finished_or_cancelled_is_passed_over(database: str) -> None:
    ids = enqueue("succeed", "succeed", "succeed")
    run_bulk(bulk, ids[:1])
    with transaction() as connection:
        ledger.cancel(connection, ids[1])
    run_bulk(bulk, ids)
    assert SEEN == [0, 2]
    assert states(ids) == ["succeeded", "cancelled", "succeeded"]


@on_both_databases
def test_a_time_limit_ends_one_job_and_hands_the_rest_back_free_of_charge(database: str) -> None:
    ids = enqueue("succeed", "too long", "succeed")
    run_bulk(bulk, ids)
    assert states(ids) == ["succeeded", "waiting", "queued"]
    with reading() as session:
        late, unbegun = session.get(Job, ids[1]), session.get(Job, ids[2])
    assert late is not None
    assert unbegun is not None
    assert (late.failures, unbegun.failures, unbegun.losses) == (1, 0, 0)


@on_both_databases
def test_a_start_that_lost_its_lease_meanwhile_is_not_finished_by_the_others_write(database: str) -> None:
    ids = enqueue("succeed", "succeed")
    with autocommit() as connection:
        starts = ledger.claim_many(connection, ids, worker="w", lease=timedelta(seconds=30))
        ledger.lose(connection, starts[0], ledger.Failure("lost", "worker_lost", "gone"))
        assert ledger.finish_many(connection, [(start, None) for start in starts]) == 1
    assert states(ids) == ["queued", "succeeded"]


def due(
    number: int, *, kind: str = "tests.bulk", priority: str = "normal", alone: bool = False
) -> ledger.Due:
    return ledger.Due(str(number), kind, "email_bulk", priority, alone)


def sizes(jobs: Sequence[ledger.Due]) -> list[int]:
    return [len(message.job_ids) for message in bundled(jobs)]


def test_messages_are_filled_up_to_the_batch_size_in_order() -> None:
    assert [message.job_ids for message in bundled([due(number) for number in range(6)])] == [
        ["0", "1", "2", "3"],
        ["4", "5"],
    ]


def test_priorities_and_types_never_share_a_message() -> None:
    assert sizes([due(0), due(1, priority="high"), due(2), due(3, kind="emails.send_email")]) == [2, 1, 1]


def test_a_job_that_took_a_worker_down_travels_alone() -> None:
    assert sizes([due(0), due(1, alone=True), due(2)]) == [2, 1]


def test_a_message_of_the_largest_size_is_below_eight_kilobytes() -> None:
    assert len(str([f"{number:036d}" for number in range(100)])) < 8 * 1024


def test_a_message_that_names_the_wrong_type_runs_each_job_as_what_its_row_says(database: str) -> None:
    ids = enqueue("succeed", "refuse")
    run_bulk(other, ids)
    assert states(ids) == ["succeeded", "dead"]
    assert SEEN == [0, 1]
