"""What the runner asks over HTTP."""

import http.client

from dev.ports import LOOPBACK

OK = 200


def answers(port: int, path: str) -> bool:
    """Whether a GET on the loopback port is answered with 200."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
