"""The words and figures that people read."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from app.pages.explanations import meaning
from app.pages.figures import duration, exact, file_size, relative, saved
from app.pages.words import state_word
from db.models.jobs import State
from services.documents import errors as document_errors
from services.email import errors as email_errors
from services.errors import ServiceError
from services.images import errors as image_errors
from tasks import files as file_errors

NOW = datetime(2026, 3, 4, 16, 5, 9, tzinfo=UTC)
MODULES = (document_errors, email_errors, image_errors, file_errors)


def codes(error: type[ServiceError] = ServiceError) -> Iterator[str]:
    """The code of every error that a service or a job names."""
    for kind in error.__subclasses__():
        if not kind.__module__.startswith("tests."):
            yield kind.code
        yield from codes(kind)


def test_every_error_of_our_own_is_explained() -> None:
    assert MODULES
    unexplained = {code for code in codes() if meaning(code) == meaning("no such code")}
    assert unexplained == set()


@pytest.mark.parametrize(
    "code", ["bug", "time_limit", "worker_lost", "worker_shutdown", "payload_invalid", "payload_too_new"]
)
def test_every_error_of_the_machinery_is_explained(code: str) -> None:
    assert meaning(code) != meaning("no such code")


def test_every_state_has_a_word() -> None:
    assert [state_word(state) for state in State] == [
        "Queued",
        "Waiting",
        "Running",
        "Done",
        "Failed",
        "Cancelled",
    ]


@pytest.mark.parametrize(
    ("away", "said"),
    [
        (timedelta(seconds=-2), "just now"),
        (timedelta(seconds=-59), "59 seconds ago"),
        (timedelta(seconds=-60), "1 minute ago"),
        (timedelta(hours=-23, minutes=-59), "23 hours ago"),
        (timedelta(days=-29), "29 days ago"),
        (timedelta(days=-30), "2 February 2026"),
        (timedelta(minutes=10, seconds=30), "in 10 minutes"),
        (timedelta(days=1), "in 1 day"),
    ],
)
def test_times_are_told_relative_to_now(away: timedelta, said: str) -> None:
    with time_machine.travel(NOW, tick=False):
        assert relative(NOW + away) == said


def test_the_exact_time_is_in_utc() -> None:
    assert exact(NOW.astimezone()) == "4 March 2026, 16:05:09 UTC"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.02, "less than 0.1 s"), (1.26, "1.3 s"), (42, "42 s"), (185, "3 min 5 s"), (7_800, "2 h 10 min")],
)
def test_durations_have_the_unit_that_fits(seconds: float, said: str) -> None:
    assert duration(timedelta(seconds=seconds)) == said


@pytest.mark.parametrize(
    ("size", "said"),
    [(900, "900 B"), (8_600, "8.4 KB"), (86_016, "84 KB"), (1_048_575, "1024 KB"), (26_214_400, "25 MB")],
)
def test_sizes_have_the_unit_that_fits(size: int, said: str) -> None:
    assert file_size(size) == said


def test_a_rendition_tells_what_it_saves_or_costs() -> None:
    assert saved(10, 100) == "90 %"
    assert saved(112, 100) == "12 % larger"
