"""A scriptable HTTP server on loopback that speaks the Messages API, so that the real SDK is exercised.

In a test::

    with MessagesApi() as api:
        api.script(error(429, "rate_limit_error", headers={"retry-after": "7"}), answer('{"…": 1}'))

Unscripted requests get a valid answer to the schema they ask for. As a process of its own it appends each
request to a file before it answers, and takes its script as JSON by `POST /script`::

    python -m tests.support.messages_api --port 8123 --record requests.jsonl
    curl -d '[{"status": 429, "headers": {"retry-after": "7"}}]' http://127.0.0.1:8123/script
"""

import argparse
import json
import signal
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Reply:
    """What to send: bytes, and pauses in seconds between them. `cut` drops the connection instead of ending."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: tuple[bytes | float, ...] = ()
    cut: bool = False


@dataclass(frozen=True)
class Recorded:
    """One request as it arrived; header names in lower case, `body` parsed."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any

    @property
    def document(self) -> str:
        """The text of its document block."""
        return str(self.body["messages"][0]["content"][0]["source"]["data"])


def event(kind: str, **fields: Any) -> bytes:
    """One server-sent event."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def _opening(input_tokens: int) -> list[bytes]:
    message: dict[str, Any] = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "stub", "content": [],
        "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": input_tokens, "output_tokens": 1},
    }  # fmt: skip
    block = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    return [event("message_start", message=message), block]


def _delta(text: str) -> bytes:
    return event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


def _stream(*body: bytes | float, cut: bool = False) -> Reply:
    return Reply(headers={"content-type": "text/event-stream"}, body=body, cut=cut)


def answer(
    text: str, *, stop_reason: str = "end_turn", input_tokens: int = 100, output_tokens: int = 20
) -> Reply:
    """A whole streamed answer of this text."""
    ending = {"stop_reason": stop_reason, "stop_sequence": None}
    return _stream(
        *_opening(input_tokens),
        event("ping"),
        _delta(text[: len(text) // 2]),
        _delta(text[len(text) // 2 :]),
        event("content_block_stop", index=0),
        event("message_delta", delta=ending, usage={"output_tokens": output_tokens}),
        event("message_stop"),
    )


def cut_answer(text: str, *, politely: bool = False) -> Reply:
    """The connection drops in the middle of the answer; politely, the response ends as if it were complete."""
    return _stream(*_opening(100), _delta(text), cut=not politely)


def silence(seconds: float) -> Reply:
    """The headers, the first event, then nothing for so long."""
    return _stream(*_opening(100), seconds)


def trickle(*, every: float, times: int) -> Reply:
    """Keep-alive events only, `every` seconds."""
    return _stream(*_opening(100), *(piece for _ in range(times) for piece in (every, event("ping"))))


def error_in_stream(kind: str, message: str = "as scripted") -> Reply:
    """Status 200, then an error event."""
    return _stream(*_opening(100), event("error", error={"type": kind, "message": message}))


def error(
    status: int, kind: str, message: str = "as scripted", *, headers: Mapping[str, str] | None = None
) -> Reply:
    """An error with the API's own JSON body."""
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return Reply(
        status,
        {"content-type": "application/json", "request-id": "req_1", **(headers or {})},
        (json.dumps(body).encode(),),
    )


def page(status: int, *, headers: Mapping[str, str] | None = None) -> Reply:
    """An error as an edge server words it: HTML."""
    html = f"<html><body><h1>{status}</h1></body></html>"
    return Reply(status, {"content-type": "text/html", **(headers or {})}, (html.encode(),))


def fitting(schema: Mapping[str, Any]) -> Any:
    """The plainest value a JSON schema accepts."""
    if "anyOf" in schema:
        return fitting(schema["anyOf"][0])
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: fitting(part) for name, part in schema["properties"].items()}
        case "array":
            return []
        case "number" | "integer":
            return 0
        case _:
            return "As the document says."


class MessagesApi:
    """Listens from `with` on; `url` is the base URL for a client, `requests` what has arrived."""

    def __init__(self, *, port: int = 0, record: Path | None = None) -> None:
        self.requests: list[Recorded] = []
        self.closing = threading.Event()
        self._record = record
        self._replies: deque[Reply] = deque()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _Conversation)
        self._server.api = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def script(self, *replies: Reply) -> None:
        """The next requests get these, in order."""
        with self._lock:
            self._replies.extend(replies)

    def receive(self, request: Recorded) -> Reply:
        """Record the request, durably before it is answered, and choose its reply."""
        with self._lock:
            self.requests.append(request)
            if self._record is not None:
                with self._record.open("a") as lines:
                    line = {"at": time.time(), "path": request.path, "body": request.body}
                    lines.write(json.dumps(line) + "\n")
            if self._replies:
                return self._replies.popleft()
        if request.method == "GET":
            model = {"type": "model", "id": request.path.rpartition("/")[2], "display_name": "Stub"}
            return Reply(200, {"content-type": "application/json"}, (json.dumps(model).encode(),))
        return answer(json.dumps(fitting(request.body["output_config"]["format"]["schema"])))

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    api: MessagesApi

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up are part of the script."""


class _Conversation(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._reply(self.server.api.receive(self._recorded(None)))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/script":
            self.server.api.script(*map(_scripted, body))
            self._reply(Reply(204))
        else:
            self._reply(self.server.api.receive(self._recorded(body)))

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # the base class's name
        """Quiet: requests are recorded, not printed."""

    def _recorded(self, body: Any) -> Recorded:
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Recorded(self.command, self.path, headers, body)

    def _reply(self, reply: Reply) -> None:
        self.close_connection = True
        self.send_response(reply.status)
        for name, value in {**reply.headers, "connection": "close", "transfer-encoding": "chunked"}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):
            for piece in reply.body:
                if isinstance(piece, bytes):
                    self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                elif self.server.api.closing.wait(piece):
                    return
            if not reply.cut:
                self.wfile.write(b"0\r\n\r\n")


def _scripted(reply: Mapping[str, Any]) -> Reply:
    """A reply from JSON: `answer` (text), or `status`, `headers` and `body` (text); `delay` in seconds first."""
    if "answer" in reply:
        made = answer(reply["answer"])
    else:
        made = Reply(reply["status"], reply.get("headers", {}), (reply.get("body", "").encode() or b"{}",))
    return Reply(made.status, made.headers, (float(reply.get("delay", 0)), *made.body))


def main(arguments: Iterable[str] | None = None) -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args(list(arguments) if arguments is not None else None)
    stop = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stop.set())
    with MessagesApi(port=options.port, record=options.record) as api:
        print(api.url, flush=True)  # noqa: T201  # the caller reads the address from here
        stop.wait()


if __name__ == "__main__":
    main()
