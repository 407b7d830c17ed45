"""Celery's consumer, which first looks at each message.

Celery logs a message that it cannot use and drops it, and some of them end the worker. Here such a message
is handed to a task of ours that keeps it as a dead letter, acknowledged only when that is committed.
"""

import json
import uuid
from collections.abc import Callable
from typing import Any

from celery.worker.consumer import Consumer as CeleryConsumer

from db.types import new_id
from tasks.engine.foreign import SHOWN_BYTES, take_in
from tasks.engine.job import JOBS
from tasks.engine.message import EMBED, headers
from tasks.engine.precedence import gives_way


class Consumer(CeleryConsumer):
    """See the module."""

    _accept: Callable[[Any], Any]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # As in `--queues`. Celery's own list puts a queue last that remote control cancelled and added again.
        self.queue_order = [*self.app.amqp.queues.consume_from]

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], Any]:
        """Celery's handler behind a look at the message."""
        self._accept = super().create_task_handler(*args, **options)

        def on_message(message: Any) -> Any:
            objection = object_to(message)
            if objection is not None:
                readdress(message, objection)
            elif gives_way(message, self):
                return message.requeue()
            else:
                rewrite(message, message.headers["task"], message.headers["id"], message.payload[0])
            return self._accept(message)

        return on_message

    def on_decode_error(self, message: Any, exc: Exception) -> Any:
        """kombu could not open it (an unknown compression, say); Celery would log and drop it."""
        readdress(message, "undecodable")
        return self._accept(message)


def object_to(message: Any) -> str | None:
    """What is wrong with the message, or None: an error code for its dead letter."""
    headers = message.headers
    if message.content_type != "application/json":
        return "undecodable" if message.content_type != "application/x-python-serialize" else "pickled"
    try:
        body = message.payload
    except Exception:  # noqa: BLE001  # any serializer's or compressor's error: the bytes are not what they claim
        return "undecodable"
    if not isinstance(headers, dict) or not isinstance(headers.get("task"), str) or "id" not in headers:
        return "foreign"
    if headers["task"] not in JOBS:
        return "unknown_task"
    return None if _is_id(headers["id"]) and _names_jobs(body) else "wrong_arguments"


def readdress(message: Any, objection: str) -> None:
    """Turn the message, which keeps its delivery tag, into one for `take_in`."""
    shown = message.body if isinstance(message.body, bytes) else str(message.body).encode(errors="replace")
    headers = message.headers if isinstance(message.headers, dict) else {}
    arguments = [
        objection,
        _storable(str(headers.get("task", "")), 80),
        _storable(str((message.delivery_info or {}).get("routing_key", "")), 40),
        headers["id"] if _is_id(headers.get("id")) else None,
        _storable(shown[:SHOWN_BYTES].decode(errors="backslashreplace"), SHOWN_BYTES),
    ]
    rewrite(message, take_in.name, new_id(), arguments)


def rewrite(message: Any, task: str, id_: str, arguments: list[Any]) -> None:
    """Keep a name, an id and arguments; what else a message says (limits, an ETA, callbacks) is not believed."""
    body = [arguments, {}, EMBED]
    message.headers = headers(task, id_)
    message.body = json.dumps(body).encode()
    message.content_type, message.content_encoding = "application/json", "utf-8"
    message._decoded_cache = body


def _storable(text: str, length: int) -> str:
    """At most so many characters, with escapes for what no database takes (half a character) or PostgreSQL does not (NUL)."""
    return text.encode(errors="backslashreplace").decode().replace("\0", "\\x00")[:length]


def _names_jobs(body: Any) -> bool:
    match body:
        case [[_, *_] as ids, dict() as options, *_]:
            return not options and all(_is_id(id_) for id_ in ids)
        case _:
            return False


def _is_id(value: Any) -> bool:
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value
    except ValueError:
        return False
