"""Which databases a test runs on, and one that freezes."""

import os
import socket
import threading
from contextlib import suppress

import pytest
from sqlalchemy import make_url

# Where tests make databases of their own.
POSTGRES_URL = os.environ.get("TEST_POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/postgres")

# For tests that use the fixture `database`, directly or through another fixture.
on_both_databases = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


class Proxy:
    """A PostgreSQL that can be frozen: it stands before the real one and then neither answers nor hangs up.

    Connections are accepted all the same, as the kernel of a frozen server does.
    """

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._flowing = threading.Event()
        self._flowing.set()
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def before(self, url: str) -> str:
        """The same database, reached through this."""
        return make_url(url).set(host="127.0.0.1", port=self.port).render_as_string(hide_password=False)

    def freeze(self) -> None:
        """Pass nothing on from now on."""
        self._flowing.clear()

    def thaw(self) -> None:
        """Pass on what has gathered, and everything from now on."""
        self._flowing.set()

    def close(self) -> None:
        """Hang up."""
        self.thaw()
        self._server.close()
        for end in self._sockets:
            end.close()

    def _accept(self) -> None:
        real = make_url(POSTGRES_URL)
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                backend = socket.create_connection((real.host or "127.0.0.1", real.port or 5432))
                self._sockets += [client, backend]
                for ends in ((client, backend), (backend, client)):
                    threading.Thread(target=self._forward, args=ends, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                self._flowing.wait()
                target.sendall(data)
            self._flowing.wait()
            target.shutdown(socket.SHUT_WR)
