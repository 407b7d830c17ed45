"""The forms of the retry-after header."""

from datetime import UTC, datetime, timedelta

import pytest

from services.documents.refusals import retry_after

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        (None, None),
        ("171", timedelta(seconds=171)),
        ("1.5", timedelta(seconds=1.5)),
        ("62291", timedelta(seconds=62291)),
        ("-5", timedelta(0)),
        ("1e12", timedelta(days=7)),
        ("Mon, 30 Nov 2026 12:02:30 GMT", timedelta(seconds=150)),
        ("Mon, 30 Nov 2026 11:00:00 GMT", timedelta(0)),
        ("Mon, 30 Nov 2026 12:00:10 -0000", timedelta(seconds=10)),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
    ],
)
def test_a_retry_after_header_becomes_a_wait(header: str | None, wait: timedelta | None) -> None:
    assert retry_after(header, now=NOW) == wait
