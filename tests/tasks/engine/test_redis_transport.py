"""Nothing that lies in a list, and no broker that goes away, can end the consumer."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st
from kombu import Connection
from kombu.asynchronous import Hub, get_event_loop, set_event_loop
from kombu.common import ignore_errors
from kombu.transport import virtual
from kombu.utils.json import loads

from tasks.engine.consumer import _storable
from tasks.engine.redis_transport import RAW, Transport, enveloped
from tests.support.brokers import own_valkey
from tests.support.processes import eventually

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
near_misses = st.fixed_dictionaries(
    {},
    optional={
        "body": anything,
        "headers": anything | st.fixed_dictionaries({"compression": anything}),
        "content-type": anything,
        "content-encoding": anything,
        "properties": anything
        | st.fixed_dictionaries(
            {
                "delivery_tag": anything,
                "delivery_info": anything | st.just({"exchange": "", "routing_key": ""}),
                "body_encoding": st.sampled_from(["base64", "rot13", "", None, [], 7]),
            }
        ),
    },
)


def message(item: bytes) -> Any:
    """What kombu makes of an item of a list: a `virtual.Message`, whose types are wrong."""
    channel: Any = virtual.Channel.__new__(virtual.Channel)
    return virtual.Message(loads(enveloped(item, b"default\x06\x161").decode()), channel=channel)


def a_message(**changes: Any) -> dict[str, Any]:
    return {
        "body": base64.b64encode(b"[[], {}, {}]").decode(),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {"task": "a", "id": "b"},
        "properties": {
            "delivery_tag": "t",
            "delivery_info": {"exchange": "", "routing_key": "default"},
            "body_encoding": "base64",
        },
    } | changes


@given(st.binary(max_size=200))
def test_any_bytes_become_a_message_that_holds_them(item: bytes) -> None:
    made = message(item)
    assert (made.body, made.content_type) == (item, RAW)
    assert made.delivery_info["routing_key"] == "default"


@given(anything | near_misses)
def test_any_json_becomes_a_message(value: Any) -> None:
    made = message(json.dumps(value).encode())
    assert isinstance(made.headers, dict)
    made.delivery_tag.encode()


def test_a_real_message_is_left_as_it_is() -> None:
    item = json.dumps(a_message()).encode()
    assert enveloped(item, b"default") is item
    assert message(item).payload == [[], {}, {}]


def test_json_in_another_encoding_than_utf_8_is_wrapped() -> None:
    item = json.dumps(a_message()).encode("utf-16")
    assert message(item).body == item


def test_json_that_kombus_decoder_would_make_objects_of_is_wrapped_when_it_cannot() -> None:
    item = json.dumps(a_message(headers={"__type__": "datetime", "__value__": "yesterday"})).encode()
    assert message(item).body == item


@given(st.text(st.characters(exclude_categories=())))
def test_what_is_shown_of_a_message_can_be_stored_in_both_databases(text: str) -> None:
    shown = _storable(text, 80)
    shown.encode()
    assert "\0" not in shown
    assert len(shown) <= 80


def test_every_channel_is_closed_although_the_broker_left_in_the_middle_of_reading(tmp_path: Path) -> None:
    with own_valkey(tmp_path / "valkey") as server:
        connection: Any = Connection(server.url, transport=Transport)
        channels = connection.default_channel, connection.channel()
        for queue, channel in zip(("default", "email"), channels, strict=True):
            connection.SimpleQueue(queue).put({})
            channel.basic_consume(queue, False, lambda _message: None, queue)
            connection.drain_events(timeout=5)
            channel._brpop_start()
        server.kill()
        # Celery gives the connection up, and closes it once more before it connects again.
        connection.collect()
        ignore_errors(connection, connection.close)
    assert all(channel.closed for channel in channels)


@pytest.fixture
def hub() -> Iterator[Hub]:
    """An event loop such as the worker's; a test fires its timers itself."""
    before = get_event_loop()
    own = Hub()
    set_event_loop(own)
    yield own
    own.close()
    set_event_loop(before)


@pytest.fixture
def unacknowledged(broker: str) -> Callable[[], int]:
    client = redis.Redis.from_url(broker, single_connection_client=False)
    return lambda: len(client.hgetall("unacked"))


@pytest.fixture
def take(broker: str) -> Iterator[Callable[[], Any]]:
    """Put a message into a queue and take it out again."""
    connection: Any = Connection(broker, transport=Transport)
    queue = connection.SimpleQueue("default")

    def take() -> Any:
        queue.put({})
        return queue.get(timeout=5)

    yield take
    connection.close()


def test_what_was_acknowledged_is_forgotten_when_the_next_message_arrives(
    hub: Hub, take: Callable[[], Any], unacknowledged: Callable[[], int]
) -> None:
    take().ack()
    assert unacknowledged() == 1
    second = take()
    assert unacknowledged() == 1
    second.ack()


def test_a_worker_without_further_messages_forgets_its_last_one_soon(
    hub: Hub, take: Callable[[], Any], unacknowledged: Callable[[], int]
) -> None:
    take().ack()
    eventually(lambda: hub.fire_timers() and unacknowledged() == 0)


def test_a_channel_forgets_what_was_acknowledged_before_it_is_closed(
    hub: Hub, take: Callable[[], Any], unacknowledged: Callable[[], int]
) -> None:
    message = take()
    message.ack()
    message.channel.close()
    assert unacknowledged() == 0


def test_without_an_event_loop_an_acknowledged_message_is_forgotten_at_once(
    take: Callable[[], Any], unacknowledged: Callable[[], int]
) -> None:
    take().ack()
    assert unacknowledged() == 0
