"""One session of the scriptable SMTP server (`tests.support.smtp`): the protocol, with the answers of a script."""

import socket
import socketserver
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tests.support.smtp import SmtpServer

Stage = Literal[
    "banner", "ehlo", "starttls", "auth", "mail", "rcpt", "data", "body", "content", "rset", "quit"
]
_USUAL: dict[Stage, int] = {
    "banner": 220,
    "ehlo": 250,
    "starttls": 220,
    "auth": 235,
    "mail": 250,
    "rcpt": 250,
    "data": 354,
    "content": 250,
    "rset": 250,
    "quit": 221,
}


@dataclass(frozen=True)
class Answer:
    """First wait `stall` seconds, then reply with `code` (0: the usual one), then close if `close`.

    `close` without a code closes without a word. At the content stage a message counts as accepted unless the
    code is 4yz or 5yz: a server that takes it and hangs up without a word has it.
    """

    code: int = 0
    lines: tuple[str, ...] = ("as told by the test",)
    stall: float = 0
    close: bool = False


@dataclass(frozen=True)
class Accepted:
    """One message as it came: `data` is unstuffed, with CRLF, without the final dot."""

    sender: str
    recipients: tuple[str, ...]
    data: bytes
    session: int


class _Hangup(Exception):
    """The conversation is over."""


class Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = False
    script: "SmtpServer"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        # Small, so that a server that reads nothing is felt by its client after a megabyte or so.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        self.conversations: set[socket.socket] = set()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self.conversations.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self.conversations.discard(request)
        super().shutdown_request(request)

    def end_conversations(self) -> None:
        for connection in list(self.conversations):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # already closed by its own thread


class Conversation(socketserver.BaseRequestHandler):
    """One session."""

    server: Listener

    def handle(self) -> None:
        script = self.server.script
        with script.changed:
            script.sessions += 1
            self.number = script.sessions
            script.open_sessions.add(self.number)
        self.secure, self.sender, self.recipients = False, "", list[str]()
        self.channel: socket.socket = self.request
        try:
            if script.tls and script.implicit_tls:
                self._encrypt()
            self.lines = self.channel.makefile("rb")
            self._say("banner")
            while True:
                self._obey(self._read())
        except (_Hangup, OSError):
            pass
        finally:
            self._close()
            with script.changed:
                script.open_sessions.discard(self.number)
                script.changed.notify_all()

    def _close(self) -> None:
        if hasattr(self, "lines"):
            self.lines.close()
        self.server.conversations.discard(self.channel)
        self.channel.close()
        self.request.close()

    def _encrypt(self) -> None:
        assert self.server.script.tls is not None
        self.channel = self.server.script.tls.wrap_socket(self.channel, server_side=True)
        self.server.conversations.add(self.channel)
        self.lines = self.channel.makefile("rb")
        self.secure = True

    def _read(self) -> str:
        self.channel.settimeout(self.server.script.idle_seconds)
        try:
            line = self.lines.readline()
        except TimeoutError:
            self._reply(421, ("idle for too long",))
            raise _Hangup from None
        finally:
            self.channel.settimeout(None)
        if not line:
            raise _Hangup
        command: str = line.decode("utf-8", "replace").rstrip("\r\n")
        self.server.script.commands.append(command)
        return command

    def _obey(self, command: str) -> None:
        verb = command.partition(" ")[0].upper()
        known = {"EHLO": self._ehlo, "STARTTLS": self._starttls, "AUTH": self._auth, "DATA": self._data}
        if verb in known:
            known[verb](command)
        elif verb == "MAIL":
            if self._say("mail"):
                self.sender, self.recipients = _path(command), []
        elif verb == "RCPT":
            if self._say("rcpt"):
                self.recipients.append(_path(command))
        elif verb == "RSET":
            self._say("rset")
            self.sender, self.recipients = "", []
        elif verb == "QUIT":
            self._say("quit")
            raise _Hangup
        else:
            self._reply(502, ("unknown",))

    def _ehlo(self, _: str) -> None:
        script = self.server.script
        offered = script.extensions
        if script.tls and not self.secure:
            offered = ("STARTTLS", *offered)
        self._say("ehlo", ("localhost", *offered))

    def _starttls(self, _: str) -> None:
        if self._say("starttls"):
            self._encrypt()

    def _auth(self, command: str) -> None:
        # PLAIN with an initial response is complete; anything else is asked twice, as LOGIN wants.
        if command.upper().startswith("AUTH LOGIN"):
            self._reply(334, ("VXNlcm5hbWU6",))
            if len(command.split()) == 2:
                self._read()
                self._reply(334, ("UGFzc3dvcmQ6",))
            self._read()
        self._say("auth")

    def _data(self, _: str) -> None:
        if not self._say("data"):
            return
        before = self.server.script.answer("body")
        self._pause(before)
        if before.close:
            raise _Hangup
        lines = []
        while (line := self.lines.readline()) != b".\r\n":
            if not line:
                raise _Hangup
            lines.append(line[1:] if line.startswith(b"..") else line)
        answer = self.server.script.answer("content")
        if answer.code < 400:
            self.server.script.accept(
                Accepted(self.sender, tuple(self.recipients), b"".join(lines), self.number)
            )
        self._perform("content", answer, answer.lines)
        self.sender, self.recipients = "", []

    def _say(self, stage: Stage, usual: tuple[str, ...] = ("ok",)) -> bool:
        """Answer at `stage`; whether it was a yes."""
        answer = self.server.script.answer(stage)
        return self._perform(stage, answer, answer.lines if answer.code else usual)

    def _perform(self, stage: Stage, answer: Answer, lines: tuple[str, ...]) -> bool:
        self._pause(answer)
        if answer.close and not answer.code:
            raise _Hangup
        self._reply(answer.code or _USUAL[stage], lines)
        if answer.close:
            raise _Hangup
        return (answer.code or _USUAL[stage]) < 400

    def _pause(self, answer: Answer) -> None:
        if answer.stall and self.server.script.stopping.wait(answer.stall):
            raise _Hangup

    def _reply(self, code: int, lines: tuple[str, ...]) -> None:
        *first, last = lines
        text = "".join(f"{code}-{line}\r\n" for line in first) + f"{code} {last}\r\n"
        self.channel.sendall(text.encode())


def _path(command: str) -> str:
    return command.partition("<")[2].partition(">")[0]
