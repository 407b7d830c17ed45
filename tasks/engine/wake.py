"""A tap on the relay's shoulder: an enqueuing process on the same machine need not wait for its next look.

Each relay listens on a datagram socket in a folder; a tap that nobody hears costs nothing, because the
relay looks by itself at least twice a second.
"""

import os
import socket
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import structlog

from config.settings import VAR

log = structlog.get_logger()


def folders(var: Path = VAR) -> list[Path]:
    """Where relays put their sockets: `var`, or, where that cannot hold one, a folder of its own among temporary files.

    A socket's path has at most 107 bytes (unix(7)), and `var` may be read-only.
    """
    found = [var / "relays"]
    # Raised where no folder takes temporary files.
    with suppress(FileNotFoundError):
        found.append(Path(tempfile.gettempdir()) / f"relays-{sha256(os.fsencode(var)).hexdigest()[:12]}")
    return found


class Bell:
    """The relay's end. Where no folder holds its socket it stays silent, and the relay looks by itself."""

    def __init__(self, places: Sequence[Path] | None = None) -> None:
        self._socket: socket.socket | None = None
        refused = []
        for folder in folders() if places is None else places:
            try:
                self._listen(folder / f"{os.getpid()}.sock")
            except OSError as error:
                refused.append(f"{folder}: {error}")
            else:
                break
        if refused:
            log.warning("relay.bell_moved", to=str(self._path) if self._socket else None, refused=refused)

    def _listen(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        bell = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            bell.bind(str(path))
        except OSError:
            bell.close()
            raise
        self._socket, self._path = bell, path

    def wait(self, seconds: float) -> bool:
        """Return when somebody rings, at the latest after `seconds`; whether somebody has."""
        if self._socket is None:
            time.sleep(seconds)
            return False
        self._socket.settimeout(seconds)
        try:
            self._socket.recv(1)
        except TimeoutError:
            return False
        self._socket.setblocking(False)
        with suppress(BlockingIOError):
            # Many rings are one reason to look.
            while self._socket.recv(1):
                pass
        return True

    def close(self) -> None:
        """Stop listening."""
        if self._socket is not None:
            self._socket.close()
            with suppress(OSError):
                self._path.unlink(missing_ok=True)


def ring(places: Sequence[Path] | None = None) -> None:
    """Wake every relay of this machine."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bell:
        bell.setblocking(False)
        for path in bells(places):
            try:
                bell.sendto(b".", str(path))
            except ConnectionRefusedError:
                # Its relay was killed and could not clean up.
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            except OSError:
                continue


def bells(places: Sequence[Path] | None = None) -> list[Path]:
    """The sockets there are, also those whose relay was killed."""
    return [path for folder in (folders() if places is None else places) for path in folder.glob("*.sock")]
