"""A test client for typed tests."""

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
