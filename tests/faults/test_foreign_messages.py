"""Whatever lies in a queue, workers go on, nothing is unpickled, and each such message becomes a dead letter."""

import base64
import json
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kombu import Connection

from config.queues import Queue
from db.engine import transaction
from db.types import new_id
from tasks.engine.message import EMBED, headers
from tests.support.ledger import add_job, job_row, letters
from tests.support.processes import eventually
from tests.support.stack import Stack

ROOT = Path(__file__).resolve().parents[2]


class Bomb:
    """Unpickling it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def envelope(body: bytes | str, *, content_type: str = "application/json", **changes: Any) -> dict[str, Any]:
    """A message as kombu puts it into a Redis list."""
    data = body if isinstance(body, bytes) else body.encode()
    return {
        "body": base64.b64encode(data).decode(),
        "content-type": content_type,
        "content-encoding": "utf-8",
        "headers": headers("tests.scripted", new_id()),
        "properties": {
            "delivery_tag": new_id(),
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": "default"},
            "priority": 0,
            "body_encoding": "base64",
        },
    } | changes


def named(task: str, ids: list[Any], options: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    return envelope(json.dumps([ids, options or {}, EMBED]), headers=headers(task, new_id()), **changes)


def with_property(name: str, value: Any) -> dict[str, Any]:
    message = named("tests.scripted", [new_id()])
    message["properties"][name] = value
    return message


def foreign(bomb: Path) -> dict[str, tuple[bytes, str]]:
    """By name: what lies in the list, and the code of its dead letter."""
    pickled = pickle.dumps([[Bomb(bomb)], {}, EMBED])
    compressed = named("tests.scripted", [new_id()])
    compressed["headers"]["compression"] = "application/x-unheard-of"
    no_task = envelope(json.dumps([[new_id()], {}, EMBED]), headers={"lang": "py"})
    messages: dict[str, tuple[Any, str]] = {
        "a line of text": (b"hello", "undecodable"),
        "nothing": (b"", "undecodable"),
        "binary with a zero byte": (b"\x00\xff\xfe\x00binary", "undecodable"),
        "an empty object": (b"{}", "undecodable"),
        "a list": (b"[1, 2]", "undecodable"),
        "a number": (b"17", "undecodable"),
        "null": (b"null", "undecodable"),
        "deep nesting": (b"[" * 50_000, "undecodable"),
        "properties that are a list": (envelope("[]", properties=[]), "undecodable"),
        "a body that is no base64": (named("tests.scripted", []) | {"body": "!!!"}, "undecodable"),
        "a body of an unknown encoding": (with_property("body_encoding", "rot13"), "undecodable"),
        "a body that is no JSON": (envelope("{{{"), "undecodable"),
        "a body that is not UTF-8": (envelope(b"\xff\xfe\x00"), "undecodable"),
        "an unknown compression": (compressed, "undecodable"),
        "an unknown content type": (envelope("[]", content_type="text/martian"), "undecodable"),
        "yaml": (envelope("a: b", content_type="application/x-yaml"), "undecodable"),
        "a pickle": (envelope(pickled, content_type="application/x-python-serialize"), "pickled"),
        "a pickle that claims to be JSON": (envelope(pickled), "undecodable"),
        "no task": (no_task, "foreign"),
        "headers that are a list": (envelope("[]", headers=[]), "undecodable"),
        "an unknown task": (named("no.such.task", [new_id()]), "unknown_task"),
        "a task name with a zero byte": (named("no\x00such", [new_id()]), "unknown_task"),
        "a task name that is half a character": (named("no\ud800such", [new_id()]), "unknown_task"),
        "a very long task name": (named("x" * 5000, [new_id()]), "unknown_task"),
        "an extra keyword": (named("tests.scripted", [new_id()], {"extra": 1}), "wrong_arguments"),
        "no argument": (named("tests.scripted", []), "wrong_arguments"),
        "an argument that is no id": (named("tests.scripted", ["1; DROP TABLE jobs"]), "wrong_arguments"),
        "a body that is an object": (envelope('{"a": 1}'), "wrong_arguments"),
        "a body that is too short": (envelope("[]"), "wrong_arguments"),
    }
    return {
        name: (item if isinstance(item, bytes) else json.dumps(item).encode(), code)
        for name, (item, code) in messages.items()
    }


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_foreign_messages_become_dead_letters_and_good_jobs_go_on(
    stack: Stack, any_broker: str, tmp_path: Path
) -> None:
    messages = foreign(tmp_path / "bomb")
    with redis.Redis.from_url(any_broker) as client, stack.running():
        for item, _ in messages.values():
            client.lpush("default", item)
        after = stack.send()
        assert stack.ended(after).state == "succeeded"
        eventually(
            lambda: len(letters()) >= len(messages), saying=lambda: [row.error_code for row in letters()]
        )
        eventually(lambda: client.hlen("unacked") == 0)
    assert sorted(row.error_code for row in letters()) == sorted(code for _, code in messages.values())
    assert {(row.reason, row.owner, row.job_id) for row in letters()} == {
        ("foreign_message", "operators", None)
    }
    assert not (tmp_path / "bomb").exists()


def test_a_dead_letter_shows_the_beginning_of_its_message_and_nothing_that_breaks_a_terminal(
    stack: Stack, any_broker: str
) -> None:
    with redis.Redis.from_url(any_broker) as client, stack.running():
        client.lpush("default", b"\x00start " + b"x" * 10_000)
        eventually(letters)
    (letter,) = letters()
    assert "start xxx" in letter.shown
    assert "\x00" not in letter.shown
    assert len(letter.shown) <= 2100


@pytest.mark.parametrize(("any_broker", "database"), [("rabbitmq", "postgresql")], indirect=True)
def test_foreign_messages_on_rabbitmq_become_dead_letters_too(stack: Stack, any_broker: str) -> None:
    cases: list[tuple[bytes, dict[str, Any], str]] = [
        (b"hello", {}, "undecodable"),
        (b"\x00\xff", {"content_type": "application/json"}, "undecodable"),
        (b"[]", {"content_type": "application/json"}, "foreign"),
        (pickle.dumps([]), {"content_type": "application/x-python-serialize"}, "pickled"),
        (
            b"[[],{},{}]",
            {"content_type": "application/json", "headers": headers("no.such", new_id())},
            "unknown_task",
        ),
        (
            b"[[1],{},{}]",
            {"content_type": "application/json", "headers": headers("tests.scripted", new_id())},
            "wrong_arguments",
        ),
    ]
    connection: Any = Connection(any_broker)
    with connection, stack.running():
        channel = connection.default_channel
        for body, properties, _ in cases:
            message = channel.prepare_message(body, **{"content_encoding": "utf-8", **properties})
            channel.basic_publish(message, exchange="", routing_key="default")
        assert stack.ended(stack.send()).state == "succeeded"
        eventually(lambda: len(letters()) >= len(cases), saying=lambda: [row.error_code for row in letters()])
    assert sorted(row.error_code for row in letters()) == sorted(code for *_, code in cases)


def test_a_foreign_message_survives_the_child_that_was_killed_while_keeping_it(
    stack: Stack, any_broker: str
) -> None:
    with redis.Redis.from_url(any_broker) as client, stack.running() as its_worker:
        assert stack.ended(stack.send()).state == "succeeded"
        # While this holds the write lock of SQLite, its dead letter cannot be committed.
        with transaction():
            client.lpush("default", b"hello")
            eventually(lambda: client.hlen("unacked") == 1 and client.llen("default") == 0)
            killed = its_worker.children()
            for child in killed:
                os.kill(child, signal.SIGKILL)
            eventually(lambda: set(its_worker.children()) - set(killed))
        eventually(letters, saying=its_worker.log)
        eventually(lambda: client.hlen("unacked") == 0)
    assert [letter.error_code for letter in letters()] == ["undecodable"]


def test_a_message_that_names_a_job_by_another_type_runs_it_as_what_its_row_says(
    stack: Stack, any_broker: str
) -> None:
    with redis.Redis.from_url(any_broker) as client, stack.running():
        job_id = add_job(type="tests.impatient", payload={"record": str(stack.record)})
        client.lpush("default", json.dumps(named("tests.scripted", [job_id])))
        row = stack.ended(job_id)
    # The other type would have returned something.
    assert (row.state, row.attempts, row.result) == ("succeeded", 1, None)


def test_a_job_that_a_newer_release_queued_waits_for_a_worker_that_knows_it(
    stack: Stack, any_broker: str
) -> None:
    stranger = add_job(type="tomorrow.task")
    with redis.Redis.from_url(any_broker) as client, stack.running():
        client.lpush(
            "default", json.dumps(envelope("[[],{},{}]", headers=headers("tomorrow.task", stranger)))
        )
        eventually(lambda: job_row(stranger).state == "waiting")
    assert letters() == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
envelopes = st.fixed_dictionaries(
    {
        "body": st.text(max_size=30)
        | st.binary(max_size=30).map(lambda data: base64.b64encode(data).decode()),
        "headers": json_values
        | st.fixed_dictionaries(
            {"task": st.text(max_size=10) | st.just("tests.scripted"), "id": json_values}
        ),
        "properties": json_values
        | st.fixed_dictionaries(
            {
                "delivery_tag": st.uuids().map(str),
                "delivery_info": st.just({"exchange": "", "routing_key": "default"}),
                "body_encoding": st.just("base64") | st.text(max_size=6) | st.none(),
                "priority": st.integers(0, 2) | json_values,
            }
        ),
    },
    optional={
        "content-type": st.just("application/json") | st.text(max_size=10),
        "content-encoding": json_values,
    },
)
items = (
    st.binary(max_size=60)
    | json_values.map(json.dumps).map(str.encode)
    | envelopes.map(json.dumps).map(str.encode)
)


@pytest.fixture
def fed(stack: Stack, any_broker: str) -> Iterator[Callable[[list[bytes]], None]]:
    """A running worker; a callable pushes into its queue and waits until all of it is a dead letter."""
    with redis.Redis.from_url(any_broker) as client, stack.running():

        def feed(pushed: list[bytes]) -> None:
            before = len(letters())
            for item in pushed:
                client.lpush("default", item)
            assert stack.ended(stack.send()).state == "succeeded"
            eventually(lambda: len(letters()) == before + len(pushed), saying=lambda: pushed)

        yield feed


@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(pushed=st.lists(items, min_size=10, max_size=20))
def test_any_bytes_and_any_envelope_become_dead_letters(
    fed: Callable[[list[bytes]], None], pushed: list[bytes]
) -> None:
    fed(pushed)


def test_a_worker_that_is_killed_while_foreign_messages_lie_there_loses_none(
    stack: Stack, any_broker: str
) -> None:
    with redis.Redis.from_url(any_broker) as client:
        for number in range(5):
            client.lpush(Queue.DEFAULT, f"message {number}")
        with stack.running() as its_worker:
            with suppress(AssertionError):
                eventually(letters, within=30)
            its_worker.kill()
        held = client.hlen("unacked") + client.llen(Queue.DEFAULT)
        assert held + len(letters()) >= 5
