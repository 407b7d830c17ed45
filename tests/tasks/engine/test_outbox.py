"""Rows, jobs and keys are committed together; messages follow, and what cannot follow waits for the relay."""

import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
import redis
from sqlalchemy import func, select, text

from config.queues import Queue
from db import ledger
from db.engine import autocommit, get_engine, transaction
from db.models import EmailDelivery, Job
from tasks.engine import broker as questions
from tasks.engine.outbox import UnitOfWork, unit_of_work
from tests.support.databases import on_both_databases
from tests.support.jobs import Script, scripted
from tests.support.ledger import job_row

SCRIPT = Script(record="none")


def count(model: type[EmailDelivery] | type[Job]) -> int:
    with autocommit() as connection:
        return int(connection.execute(select(func.count()).select_from(model)).scalar_one())


def a_delivery(work: UnitOfWork) -> EmailDelivery:
    return work.add(
        EmailDelivery(template="welcome", to_email="a@b.test", context={}, created_by=work.created_by)
    )


@on_both_databases
def test_rows_and_jobs_are_committed_and_the_message_is_published_and_marked(
    database: str, broker: str
) -> None:
    with unit_of_work(created_by="token:7") as work:
        delivery = a_delivery(work)
        handle = work.enqueue(scripted, SCRIPT)
        assert delivery.id
        assert questions.depths()[Queue.DEFAULT] == 0
    assert count(EmailDelivery) == 1
    row = job_row(handle.id)
    assert (row.state, row.created_by, row.type) == ("queued", "token:7", "tests.scripted")
    assert row.published_at is not None
    assert questions.depths()[Queue.DEFAULT] == 1


@on_both_databases
def test_an_error_leaves_neither_rows_nor_jobs_nor_messages(database: str, broker: str) -> None:
    def fail() -> None:
        with unit_of_work() as work:
            a_delivery(work)
            work.enqueue(scripted, SCRIPT)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (count(EmailDelivery), count(Job), questions.depths()[Queue.DEFAULT]) == (0, 0, 0)


def test_a_broker_that_refuses_leaves_the_job_to_the_relay_and_the_caller_hardly_waits(database: str) -> None:
    began = time.monotonic()
    handle = scripted.delay(SCRIPT)
    assert time.monotonic() - began < 1
    row = job_row(handle.id)
    assert (row.state, row.published_at) == ("queued", None)


@pytest.fixture
def silent_broker(configure: Callable[..., object], database: str) -> Iterator[str]:
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        configure(BROKER_URL=url)
        yield url


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_broker_that_never_answers_costs_a_request_less_than_a_second(
    silent_broker: str, configure: Callable[..., object], scheme: str
) -> None:
    configure(BROKER_URL=silent_broker.replace("redis", scheme, 1))
    for patience in (1, 0.1):
        # After the first failure nobody tries again for a moment.
        began = time.monotonic()
        handle = scripted.delay(SCRIPT)
        assert time.monotonic() - began < patience
        assert job_row(handle.id).published_at is None


def test_a_broker_without_memory_leaves_the_job_to_the_relay(database: str, broker: str) -> None:
    with redis.Redis.from_url(broker) as client:
        client.config_set("maxmemory", "1")
        try:
            handle = scripted.delay(SCRIPT)
        finally:
            client.config_set("maxmemory", "0")
    row = job_row(handle.id)
    assert (row.state, row.published_at) == ("queued", None)


def test_a_job_for_later_is_parked_and_has_no_message(database: str, broker: str) -> None:
    run_at = datetime.now(UTC) + timedelta(hours=1)
    with unit_of_work() as work:
        handle = work.enqueue(scripted, SCRIPT, run_at=run_at)
    row = job_row(handle.id)
    assert (row.state, row.published_at) == ("waiting", None)
    assert abs(row.due_at - run_at) < timedelta(seconds=1)
    assert questions.depths()[Queue.DEFAULT] == 0


def test_a_batch_keeps_its_order_and_its_first_goes_first(database: str, broker: str) -> None:
    with unit_of_work() as work:
        handles = work.enqueue_batch("documents", [(scripted, SCRIPT)] * 3, first_goes_first=True)
    rows = [job_row(handle.id) for handle in handles]
    assert [row.priority for row in rows] == ["high", "normal", "normal"]
    assert [row.position for row in rows] == [0, 1, 2]
    assert {row.batch_id for row in rows} == {handles[0].batch_id}


def test_a_large_batch_is_left_to_the_relay_and_due_at_once(database: str, broker: str) -> None:
    with unit_of_work() as work:
        work.enqueue_batch("documents", [(scripted, SCRIPT)] * 201)
    assert questions.depths()[Queue.DEFAULT] == 0
    with transaction() as connection:
        assert len(ledger.take_overdue(connection, limit=500)) == 201


def test_a_repeated_key_is_answered_with_the_first_job_of_this_caller_alone(
    database: str, broker: str
) -> None:
    def ask(caller: str) -> str:
        with unit_of_work(created_by=caller) as work:
            earlier = work.earlier("key", "content")
            return earlier.id if earlier else work.enqueue(scripted, SCRIPT).id

    first = ask("token:1")
    assert ask("token:1") == first
    assert ask("token:2") != first


def test_a_payload_of_another_type_is_refused(database: str) -> None:
    class Other(Script):
        """A payload of another kind would be `Payload`; a narrower one fits."""

    with pytest.raises(TypeError, match="takes Script"), unit_of_work() as work:
        work.enqueue(scripted, {"record": "none"})  # type: ignore[misc]  # that is what is refused
    assert scripted.delay(Other(record="none")).id


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_database_that_goes_away_right_after_the_commit_fails_no_request(
    database: str, broker: str
) -> None:
    scripted.delay(SCRIPT)
    with get_engine().connect() as connection:
        # Every pooled connection but this one: the next request finds them dead.
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    handle = scripted.delay(SCRIPT)
    assert job_row(handle.id).state == "queued"
