"""A tap on the relay's shoulder: an enqueuing process on the same machine need not wait for its next tick.

Each relay listens on a datagram socket in a folder; a tap that nobody hears costs nothing, because the
relay looks by itself twice a second.
"""

import os
import socket
from contextlib import suppress
from pathlib import Path

from config.settings import VAR

_FOLDER = VAR / "relays"


class Bell:
    """The relay's end."""

    def __init__(self, folder: Path = _FOLDER) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{os.getpid()}.sock"
        self._path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self._path))

    def wait(self, seconds: float) -> None:
        """Return when somebody rings, at the latest after `seconds`."""
        self._socket.settimeout(seconds)
        with suppress(TimeoutError):
            self._socket.recv(1)
        self._socket.setblocking(False)
        with suppress(BlockingIOError):
            # Many rings are one reason to look.
            while self._socket.recv(1):
                pass

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()
        self._path.unlink(missing_ok=True)


def ring(folder: Path = _FOLDER) -> None:
    """Wake every relay of this machine."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bell:
        bell.setblocking(False)
        for path in folder.glob("*.sock"):
            try:
                bell.sendto(b".", str(path))
            except ConnectionRefusedError:
                # Its relay was killed and could not clean up.
                path.unlink(missing_ok=True)
            except OSError:
                continue
