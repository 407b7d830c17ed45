"""How long a relay without work sleeps."""

import math

import pytest

from tasks.engine.relay import LONGEST_SLEEP_S, SHORTEST_SLEEP_S, sleep_s


@pytest.mark.parametrize(
    ("until_due", "expected"),
    [
        (0.3, 0.301),
        (60, LONGEST_SLEEP_S),
        (math.inf, LONGEST_SLEEP_S),
        (0.003, SHORTEST_SLEEP_S),
        # It came due while the relay looked.
        (-1, SHORTEST_SLEEP_S),
    ],
)
def test_it_sleeps_until_the_next_job_is_due_but_neither_too_long_nor_too_short(
    until_due: float, expected: float
) -> None:
    assert sleep_s(until_due) == pytest.approx(expected)
