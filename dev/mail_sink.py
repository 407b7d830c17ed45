"""Takes every mail, delivers none: an SMTP server whose mail is read in the browser.

`python -m dev.mail_sink --smtp-port 2525 --http-port 8025 --folder var/outbox`. Each mail is one file there,
as it came, below the two lines of its envelope. It prints one line when it is ready and ends on SIGTERM.
"""

import argparse
import asyncio
import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import uuid_utils
from aiosmtpd.smtp import SMTP, Envelope

from dev.mail_sink_pages import pages

T = TypeVar("T")

HOST = "127.0.0.1"
LARGEST_MAIL = 25 * 1024 * 1024


class Outbox:
    """The SMTP side: a mail is a complete file on disk before the client hears 250."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Envelope) -> str:  # noqa: N802  # aiosmtpd's name
        """Store the mail; aiosmtpd calls it after the final dot."""
        recipients = ", ".join(envelope.rcpt_tos)
        head = f"X-MailFrom: {envelope.mail_from}\r\nX-RcptTo: {recipients}\r\n".encode()
        content = envelope.content or b""
        await asyncio.to_thread(
            self._save, head + (content if isinstance(content, bytes) else content.encode())
        )
        return "250 OK, kept and not delivered"

    def _save(self, mail: bytes) -> None:
        # UUIDv7 sorts by time, so the newest mail is the last name.
        final = self._folder / f"{uuid_utils.uuid7()}.eml"
        partial = final.with_suffix(".partial")
        with partial.open("xb") as file:
            file.write(mail)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(final)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name, too, outlives a power cut
        finally:
            os.close(folder)


@contextmanager
def _reading(server: ThreadingHTTPServer) -> Iterator[None]:
    """Serve the pages from a thread meanwhile."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


async def _serve(listener: socket.socket, outbox: Outbox, http_port: int) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)

    def conversation() -> SMTP:
        return SMTP(
            outbox,
            loop=loop,
            hostname="localhost",
            ident="mail sink",
            data_size_limit=LARGEST_MAIL,
            enable_SMTPUTF8=True,
        )

    server = await loop.create_server(conversation, sock=listener)
    print(
        f"mail sink: smtp://{HOST}:{listener.getsockname()[1]} read at http://{HOST}:{http_port}/", flush=True
    )
    await ended.wait()
    server.close()


def _bound(port: int, bind: Callable[[int], T]) -> T:
    try:
        return bind(port)
    except OSError as error:
        reason = "is already in use" if error.errno == errno.EADDRINUSE else "cannot be used"
        sys.exit(f"mail sink: port {port} {reason}")


def main() -> None:
    """Serve until SIGTERM or Ctrl-C; exits with 1 and one line when a port is taken."""
    options = argparse.ArgumentParser(prog="python -m dev.mail_sink", description=__doc__)
    options.add_argument("--smtp-port", type=int, default=2525, help="0 takes a free one")
    options.add_argument("--http-port", type=int, default=8025, help="0 takes a free one")
    options.add_argument("--folder", type=Path, default=Path("var/outbox"))
    chosen = options.parse_args()
    outbox = Outbox(chosen.folder)
    with (
        _bound(chosen.smtp_port, lambda port: socket.create_server((HOST, port))) as listener,
        _bound(
            chosen.http_port, lambda port: ThreadingHTTPServer((HOST, port), pages(chosen.folder))
        ) as reader,
        _reading(reader),
    ):
        asyncio.run(_serve(listener, outbox, reader.server_port))


if __name__ == "__main__":
    main()
