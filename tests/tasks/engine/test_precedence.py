"""When a message of the bulk lane goes back on RabbitMQ. What that means for a newsletter, `tests/faults` shows."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from amqp.exceptions import NotFound, RecoverableConnectionError

from tasks.engine.precedence import gives_way

MESSAGE = SimpleNamespace(
    headers={"task": "emails.send_newsletter"}, delivery_info={"routing_key": "email_bulk"}
)


@dataclass
class Broker:
    """Stands for Celery's consumer and RabbitMQ behind it: answers how many messages wait in which queue."""

    waiting: dict[str, int | Exception]
    driver: str = "amqp"
    queue_order: list[str] = field(default_factory=lambda: ["email", "default", "email_bulk", "images"])
    cancelled: str = ""
    asked: list[str] = field(default_factory=list)

    @property
    def connection(self) -> Any:
        return SimpleNamespace(transport=SimpleNamespace(driver_type=self.driver))

    @property
    def task_consumer(self) -> Any:
        return SimpleNamespace(channel=self, consuming_from=lambda queue: queue != self.cancelled)

    def queue_declare(self, *, queue: str, passive: bool) -> Any:
        assert passive
        self.asked.append(queue)
        answer = self.waiting[queue]
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(message_count=answer)


@pytest.mark.parametrize(
    ("waiting", "goes_back"),
    [
        ({"email": 0, "default": 0}, False),
        ({"email": 1, "default": 0}, True),
        ({"email": 0, "default": 7}, True),
    ],
)
def test_it_goes_back_while_a_queue_named_earlier_has_something(
    waiting: dict[str, int | Exception], goes_back: bool
) -> None:
    broker = Broker(waiting)
    assert gives_way(MESSAGE, broker) is goes_back
    assert "images" not in broker.asked


def test_a_queue_that_this_worker_no_longer_serves_does_not_hold_it_up() -> None:
    assert not gives_way(MESSAGE, Broker({"email": 5, "default": 0}, cancelled="email"))


def test_nobody_is_asked_on_redis_nor_for_a_single_job() -> None:
    assert not gives_way(MESSAGE, Broker({}, driver="redis"))
    single = SimpleNamespace(
        headers={"task": "emails.send_email"}, delivery_info={"routing_key": "email_bulk"}
    )
    assert not gives_way(single, Broker({}))


@pytest.mark.parametrize(
    "failure", [TimeoutError(), NotFound("no queue 'email'")], ids=["silence", "deleted"]
)
def test_a_question_without_an_answer_makes_the_worker_connect_anew(failure: Exception) -> None:
    with pytest.raises(RecoverableConnectionError):
        gives_way(MESSAGE, Broker({"email": failure}))
