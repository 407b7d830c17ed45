"""gunicorn's thread worker with a limit to how long a client may keep a thread waiting for its request.

gthread takes a thread as soon as a connection has brought a byte, and then reads without a limit: as many half-sent
requests as there are threads, and nobody else is served. It has no setting for that.
"""

import socket
import time
from typing import Any

from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]  # it publishes no types

# The rule of Apache's mod_reqtimeout: so long without a byte, and half a kilobyte per second in the long run.
PATIENCE_S = 20.0
BYTES_PER_S = 500


class PacedSocket(socket.socket):
    """Reads as if the client had hung up once it has kept us waiting for too long.

    Only the time spent waiting counts. What arrives buys time again, so a slow upload that goes on is never cut.
    """

    patience = PATIENCE_S

    def recv(self, size: int, flags: int = 0) -> bytes:
        """As the socket's own; b"" when the patience is used up."""
        # gunicorn sets a timeout of its own to drain, and none to read.
        timeout, began = self.gettimeout(), time.monotonic()
        if timeout is not None or self.patience <= 0:
            return super().recv(size, flags) if self.patience > 0 else b""
        self.settimeout(self.patience)
        try:
            data = super().recv(size, flags)
        except TimeoutError:
            self.patience = 0.0
            return b""
        finally:
            self.settimeout(timeout)
        left = self.patience - (time.monotonic() - began) + len(data) / BYTES_PER_S
        self.patience = min(PATIENCE_S, left)
        return data


class PacedWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn publishes no types
    """gthread, with paced sockets."""

    def enqueue_req(self, conn: Any) -> None:
        """Hand a connection that has something to read to a thread; each request has all the patience."""
        if not isinstance(conn.sock, PacedSocket):
            conn.sock = PacedSocket(fileno=conn.sock.detach())
        conn.sock.patience = PATIENCE_S
        super().enqueue_req(conn)
