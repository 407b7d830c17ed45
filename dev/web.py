"""What the runner asks over HTTP: are you ready, and do you know this token?"""

import http.client
from collections.abc import Mapping

from dev.ports import LOOPBACK


def status(port: int, path: str, headers: Mapping[str, str] | None = None) -> int | None:
    """The HTTP status of a GET on the loopback port, or None while nothing answers there."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=2)
    try:
        connection.request("GET", path, headers=dict(headers or {}))
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
