"""An SMTP server that does at each stage what a test tells it to, and remembers what it accepted.

    with SmtpServer() as server:
        server.next("rcpt", Answer(450))       # once; several calls queue up
        server.always("content", Answer(close=True))

Stages: banner, ehlo, starttls, auth, mail, rcpt, data, body (after 354, before the text is read), content (after
the final dot), rset, quit. As a process: `python -m tests.support.smtp --port 2525 --record FILE
--always content=451`; it prints its address and ends on SIGTERM.
"""

import argparse
import os
import signal
import ssl
import threading
from collections import defaultdict, deque
from email import message_from_bytes
from pathlib import Path
from typing import Self, cast, get_args

from tests.support.smtp_sessions import Accepted, Answer, Conversation, Listener, Stage

__all__ = ["Accepted", "Answer", "SmtpServer", "Stage"]

EXTENSIONS = ("SIZE 20000000", "8BITMIME", "SMTPUTF8", "AUTH PLAIN LOGIN")


class SmtpServer:
    """Listens on loopback from construction on; `port` 0 takes a free one."""

    def __init__(
        self,
        *,
        port: int = 0,
        extensions: tuple[str, ...] = EXTENSIONS,
        tls: ssl.SSLContext | None = None,
        implicit_tls: bool = False,
        idle_seconds: float | None = None,
        record: Path | None = None,
    ) -> None:
        """`tls` offers STARTTLS, or TLS from the first byte with `implicit_tls`. A session that is silent for
        `idle_seconds` is ended with 421. `record` gets one line `Message-ID recipient` per accepted message
        and recipient, on disk before the client gets its 250."""
        self.extensions, self.tls, self.implicit_tls = extensions, tls, implicit_tls
        self.idle_seconds, self.record = idle_seconds, record
        self.accepted: list[Accepted] = []
        self.commands: list[str] = []
        self.sessions = 0
        self.stopping = threading.Event()
        self.changed = threading.Condition()
        self.open_sessions: set[int] = set()
        self._once: dict[Stage, deque[Answer]] = defaultdict(deque)
        self._always: dict[Stage, Answer] = {}
        self._server = Listener(("127.0.0.1", port), Conversation)
        self._server.script = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Its address as SMTP_URL, without TLS."""
        return f"smtp://127.0.0.1:{self.port}"

    def next(self, stage: Stage, *answers: Answer) -> None:
        """Give these answers, one each, the next times `stage` comes; they go before `always`."""
        self._once[stage].extend(answers)

    def always(self, stage: Stage, answer: Answer) -> None:
        """Give this answer whenever `stage` comes."""
        self._always[stage] = answer

    def wait_until_idle(self, seconds: float = 5) -> None:
        """Return when no session is open; TimeoutError otherwise."""
        with self.changed:
            if not self.changed.wait_for(lambda: not self.open_sessions, seconds):
                raise TimeoutError("sessions are still open")

    def answer(self, stage: Stage) -> Answer:
        """What to do at `stage` now."""
        waiting = self._once[stage]
        return waiting.popleft() if waiting else self._always.get(stage, Answer())

    def accept(self, message: Accepted) -> None:
        """Remember a message, on disk too when there is a record."""
        if self.record is not None:
            message_id = message_from_bytes(message.data)["Message-ID"]
            lines = "".join(f"{message_id} {recipient}\n" for recipient in message.recipients)
            descriptor = os.open(self.record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(descriptor, lines.encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        self.accepted.append(message)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Close the port and every session."""
        self.stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.end_conversations()
        self._server.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _told(text: str) -> tuple[Stage, Answer]:
    """Read `rcpt=450`, `content=close`, `content=250,close` or `data=stall:5`."""
    stage, _, actions = text.partition("=")
    if stage not in get_args(Stage):
        raise ValueError(stage)
    code, stall, close = 0, 0.0, False
    for action in actions.split(","):
        if action == "close":
            close = True
        elif action.startswith("stall:"):
            stall = float(action.removeprefix("stall:"))
        else:
            code = int(action)
    return cast(Stage, stage), Answer(code=code, stall=stall, close=close)


def main() -> None:
    """Serve until SIGTERM or Ctrl-C."""
    options = argparse.ArgumentParser(description="A scriptable SMTP server on loopback")
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--record", type=Path, help="append 'Message-ID recipient' per accepted message")
    options.add_argument("--always", type=_told, action="append", default=[], metavar="STAGE=ACTION[,ACTION]")
    chosen = options.parse_args()
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    server = SmtpServer(port=chosen.port, record=chosen.record)
    for stage, answer in chosen.always:
        server.always(stage, answer)
    with server:
        print(server.url, flush=True)  # noqa: T201  # the caller waits for it
        ended.wait()


if __name__ == "__main__":
    main()
