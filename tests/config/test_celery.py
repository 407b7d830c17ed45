"""Celery's options, per broker."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from config.celery import VISIBILITY_TIMEOUT, celery_options, transport_options
from config.queues import MAX_PRIORITY, Priority, Queue, broker_priority
from config.settings import Settings

REDIS, AMQP, SQS = "redis://h/0", "amqp://h", "sqs://"


@pytest.fixture
def options(configure: Callable[..., Settings]) -> Callable[[str], dict[str, Any]]:
    def options(broker_url: str) -> dict[str, Any]:
        return celery_options(configure(BROKER_URL=broker_url))

    return options


@pytest.mark.parametrize("url", [REDIS, AMQP, SQS])
def test_every_queue_is_declared_and_no_other_comes_into_being(
    options: Callable[[str], dict[str, Any]], url: str
) -> None:
    found = options(url)
    assert set(found["task_queues"]) == {queue.value for queue in Queue}
    assert found["task_create_missing_queues"] is False
    assert found["task_routes"]["dead_letter.*"] == {"queue": "dead_letter"}


@pytest.mark.parametrize("url", [REDIS, AMQP, SQS])
def test_nothing_is_unpickled_and_nothing_is_acknowledged_early(
    options: Callable[[str], dict[str, Any]], url: str
) -> None:
    found = options(url)
    assert found["accept_content"] == ["json"]
    assert found["task_acks_late"]
    assert found["worker_prefetch_multiplier"] == 1
    assert found["result_backend"] is None


def test_on_redis_a_high_priority_is_the_number_served_first() -> None:
    order = transport_options(REDIS)["priority_steps"]
    assert [broker_priority(priority, REDIS) for priority in Priority] == order == [0, 1, 2]


def test_on_rabbitmq_a_high_priority_is_the_highest_number(options: Callable[[str], dict[str, Any]]) -> None:
    assert [broker_priority(priority, AMQP) for priority in Priority] == [2, 1, 0]
    arguments = options(AMQP)["task_queues"]["email"]["queue_arguments"]
    assert arguments["x-max-priority"] == MAX_PRIORITY


def test_rabbitmq_keeps_a_consumer_as_long_as_others_keep_a_message(
    options: Callable[[str], dict[str, Any]],
) -> None:
    arguments = options(AMQP)["task_queues"]["email"]["queue_arguments"]
    assert timedelta(milliseconds=arguments["x-consumer-timeout"]) == VISIBILITY_TIMEOUT


@pytest.mark.parametrize("url", [REDIS, SQS])
def test_a_message_is_held_back_for_the_visibility_timeout(url: str) -> None:
    assert transport_options(url)["visibility_timeout"] == VISIBILITY_TIMEOUT.total_seconds()


def test_rabbitmq_confirms_what_it_has_on_disk() -> None:
    assert transport_options(AMQP)["confirm_publish"] is True


@pytest.mark.parametrize("url", [REDIS, AMQP])
def test_no_wait_on_the_network_is_longer_than_asked(url: str) -> None:
    waits = {name: value for name, value in transport_options(url, patience=0.5).items() if "timeout" in name}
    waits.pop("visibility_timeout", None)
    assert waits
    assert set(waits.values()) == {0.5}
