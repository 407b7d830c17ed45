"""Which TCP ports on this machine can still be taken."""

import socket

from dev.errors import CannotStart

LOOPBACK = "127.0.0.1"


def is_free(port: int) -> bool:
    """True if nothing answers on the loopback port and a server could bind it now."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        # macOS lets a specific address be bound beside a wildcard listener, so binding alone proves little.
        if probe.connect_ex((LOOPBACK, port)) == 0:
            return False
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def required(port: int, setting: str) -> int:
    """The port a person opens by hand: it does not move silently; raise CannotStart if it is taken."""
    if not is_free(port):
        raise CannotStart(
            f"port {port} is taken by another program; choose another one: {setting}={port + 1} make run"
        )
    return port


def preferred(port: int) -> int:
    """This port, or a free one if another program has it; only our own processes need to know it."""
    if is_free(port):
        return port
    with socket.socket() as any_port:
        any_port.bind((LOOPBACK, 0))
        return int(any_port.getsockname()[1])
