"""A visitor of the pages, and the turns that jobs take.

`visitor`   a browser without JavaScript: reads pages, and posts forms with the token that the page gave it.
`stranger`  another one.
`take`      a callable: `take(job_id)` starts a job as a worker would and returns its start.
"""

import io
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from flask import Flask
from selectolax.lexbor import LexborHTMLParser, LexborNode
from werkzeug.test import TestResponse

from config.settings import get_settings
from db import ledger
from db.engine import autocommit


class Page(LexborHTMLParser):
    """A parsed answer; `status` and `location` are the answer's own."""

    def __init__(self, response: TestResponse) -> None:
        super().__init__(response.text)
        self.status, self.location = response.status_code, response.location or ""

    def one(self, selector: str) -> LexborNode:
        """The only element that fits."""
        found = self.css(selector)
        assert len(found) == 1, f"{len(found)} elements fit {selector}"
        return found[0]

    def said(self, selector: str) -> str:
        """The text of the only element that fits, with single spaces."""
        return " ".join(self.one(selector).text().split())

    def value(self, selector: str) -> str:
        """The value of the only field that fits."""
        return self.one(selector).attributes.get("value") or ""


class Visitor:
    """One browser."""

    def __init__(self, app: Flask) -> None:
        self.client = app.test_client()

    def see(self, path: str) -> Page:
        """Open a page."""
        return Page(self.client.get(path))

    def hidden(self, form: str) -> dict[str, str]:
        """The hidden fields of one of the home page's forms."""
        fields = self.see("/").css(f"#{form} input[type=hidden]")
        return {str(field.attributes["name"]): str(field.attributes["value"]) for field in fields}

    def send(self, form: str, typed: Mapping[str, Any], hidden: Mapping[str, str] | None = None) -> Page:
        """Post one of the home page's forms; files are `(content, name)`."""
        fields = {**(hidden or self.hidden(form)), **typed}
        data = {name: _files(value) for name, value in fields.items()}
        return Page(self.client.post(f"/{form}", data=data, content_type="multipart/form-data"))


def _files(value: Any) -> Any:
    if isinstance(value, list):
        return [_files(one) for one in value]
    return (io.BytesIO(value[0]), value[1]) if isinstance(value, tuple) else value


@pytest.fixture
def visitor(app: Flask) -> Visitor:
    """A browser."""
    return Visitor(app)


@pytest.fixture
def stranger(app: Flask) -> Visitor:
    """Another one."""
    return Visitor(app)


@pytest.fixture
def take(database: str) -> Callable[[str], ledger.Start]:
    """Start a job."""

    def claim(job_id: str) -> ledger.Start:
        with autocommit() as connection:
            start = ledger.claim(connection, job_id, worker="test", lease=get_settings().lease)
        assert start is not None
        return start

    return claim
