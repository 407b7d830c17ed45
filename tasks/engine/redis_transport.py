"""kombu's Redis transport, with five changes.

*One client per channel.* kombu builds a new client object for every acknowledgement; with two per job that is
a good part of the parent process's time. A client is only a view of the connection pool, so one that
belongs to the pool now in use (pools change after a reconnect and after a fork) serves as well.

*No transaction around two commands.* For each message taken and each acknowledged, kombu writes to a sorted set
and a hash in a transaction, whose five replies the parent process waits for. A plain pipeline has two, and what a
crash of Redis between the two commands could leave behind (a message that is not handed out again) is what the
relay looks for anyway.

*An acknowledgement waits for company.* Redis is told with the next message that arrives, or a tenth of a second later:
one wait less for each job. One that is lost means that the message comes again and finds nothing to do.

*Nothing in a list can end the consumer.* Whatever somebody pushed is turned into a message before kombu
decodes it, so that it can be vetted like any other and end as a dead letter. Without this, one line of text
in a queue stops every worker that listens to it.

*A Redis that is gone cannot end the consumer* while it closes what it had open, see `Channel.close`.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kombu.asynchronous import get_event_loop
from kombu.transport import redis
from kombu.utils.json import loads
from redis.exceptions import ResponseError

from db.types import new_id

# How a message that is not one is marked for the consumer.
RAW = "application/octet-stream"
# A worker without work has forgotten its last message after this time.
_FORGET_WITHIN_S = 0.1


class QoS(redis.QoS):
    """Remembers messages without MULTI and EXEC, and forgets them along with the next arrival."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._acknowledged: list[str] = []
        self._timed = False

    @contextmanager
    def pipe_or_acquire(self, pipe: Any = None, client: Any = None) -> Iterator[Any]:
        """Yield `pipe`, or a pipeline of this channel's client that forgets what was acknowledged since the last."""
        if pipe is not None:
            yield pipe
            return
        with self.channel.conn_or_acquire(client) as connected:  # type: ignore[attr-defined]  # not in its types
            pipe = connected.pipeline(transaction=False)
            tags, self._acknowledged = self._acknowledged, []
            if tags:
                pipe.zrem(self.unacked_index_key, *tags)
                pipe.hdel(self.unacked_key, *tags)
            yield pipe

    def ack(self, delivery_tag: str) -> None:
        """Free the message's place at once; Redis is told with the next message, or when none comes.

        A message that Redis was never told of is handed out once more, hours later, and finds nothing to do.
        """
        super(redis.QoS, self).ack(delivery_tag)
        self._acknowledged.append(delivery_tag)
        hub = get_event_loop()
        if hub is None:
            self.forget_acknowledged()
        elif not self._timed:
            self._timed = True
            hub.call_later(_FORGET_WITHIN_S, self.forget_acknowledged)

    def forget_acknowledged(self) -> None:
        """Tell Redis what was acknowledged, if it has not been told yet."""
        self._timed = False
        if self._acknowledged and not self.channel.closed:
            with suppress(ResponseError), self.pipe_or_acquire() as pipe:
                pipe.execute()


class Channel(redis.Channel):
    """See the module."""

    QoS = QoS
    _qos: Any
    _shared: Any = None
    connection_errors: tuple[type[Exception], ...]

    def close(self) -> None:
        """Close it, also when Redis is gone.

        kombu then stops half-way, with this channel and others still open. When the worker closes them once more
        their connection is no longer there, and the worker ends by an AttributeError instead of reconnecting.
        """
        with suppress(*self.connection_errors):
            if self._qos is not None:
                self._qos.forget_acknowledged()
            super().close()
        if not self.closed:
            # What was to be read from Redis, or deleted there, is not to be had.
            self._in_poll = None
            self.auto_delete_queues.clear()
            with suppress(*self.connection_errors):
                super().close()

    @contextmanager
    def conn_or_acquire(self, client: Any = None) -> Iterator[Any]:
        """Yield `client`, or this channel's own one."""
        if client is None:
            if self._shared is None or self._shared.connection_pool is not self.pool:
                self._shared = self._create_client()  # type: ignore[attr-defined]  # not in kombu's types
            client = self._shared
        yield client

    def _get_client(self) -> Any:
        class Client(super()._get_client()):  # type: ignore[misc]  # the class depends on the URL
            def parse_response(self, connection: Any, command_name: str, **options: Any) -> Any:
                reply = super().parse_response(connection, command_name, **options)
                if command_name == "BRPOP" and reply:
                    key, item = reply
                    return key, enveloped(item, key)
                return reply

        return Client


class Transport(redis.Transport):
    """Redis with our channel.

    A Redis that answers with an error (it is full, was made a replica, holds something else under a queue's name)
    is treated as one that is away: the worker reconnects until it is mended. kombu calls these errors of the
    channel, and the worker then ends.
    """

    Channel = Channel
    connection_errors = (*redis.Transport.connection_errors, ResponseError)


def enveloped(item: bytes, key: bytes) -> bytes:
    """The item itself if kombu can open it, else an envelope around its bytes."""
    return item if _opens(item) else _envelope(item, key)


def _opens(item: bytes) -> bool:
    try:
        # As kombu reads it, whose decoder makes objects of some JSON and may refuse to.
        envelope = loads(item.decode())
        properties = envelope["properties"]
        info = properties["delivery_info"]
        # It becomes a key in Redis; half a character in it could not.
        properties["delivery_tag"].encode()
        if properties.get("body_encoding") == "base64":
            base64.b64decode(envelope["body"], validate=True)
        return (
            isinstance(envelope["headers"], dict)
            and isinstance(envelope["body"], str)
            and properties.get("body_encoding") in (None, "", "base64")
            and isinstance(info["exchange"], str)
            and isinstance(info["routing_key"], str)
        )
    except Exception:  # noqa: BLE001  # anything may lie in a list, nested too deeply to be read among it
        return False


def _envelope(item: bytes, key: bytes) -> bytes:
    queue = key.decode(errors="replace").split("\x06\x16", 1)[0]
    return json.dumps(
        {
            "body": base64.b64encode(item).decode(),
            "content-type": RAW,
            "content-encoding": "binary",
            "headers": {},
            "properties": {
                "delivery_tag": new_id(),
                "correlation_id": new_id(),
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": queue},
                "priority": 0,
                "body_encoding": "base64",
            },
        }
    ).encode()
