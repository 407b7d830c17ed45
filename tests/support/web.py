"""A test client for typed tests, and whether a real server answers."""

from http.client import HTTPConnection
from typing import Any

from flask.testing import FlaskClient


class Client(FlaskClient):
    """Its answers are `Any`: their JSON is, and a test that finds something else fails anyway."""

    def get(self, *args: Any, **named: Any) -> Any:
        """As FlaskClient."""
        return super().get(*args, **named)

    def post(self, *args: Any, **named: Any) -> Any:
        """As FlaskClient."""
        return super().post(*args, **named)

    def open(self, *args: Any, **named: Any) -> Any:
        """As FlaskClient."""
        return super().open(*args, **named)

    def delete(self, *args: Any, **named: Any) -> Any:
        """As FlaskClient."""
        return super().delete(*args, **named)


def answers(port: int, path: str = "/healthz", *, timeout: float = 2) -> bool:
    """Whether a server on this machine answers the path with 200 within `timeout` seconds."""
    connection = HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
