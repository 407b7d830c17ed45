"""What may be asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from services.images.options import MAX_WIDTH, MAX_WIDTHS, ResizeOptions, parse_widths

some_widths = st.lists(st.integers(1, MAX_WIDTH), min_size=1, max_size=MAX_WIDTHS)


def test_without_wishes_there_are_three_widths_in_webp() -> None:
    assert ResizeOptions().model_dump() == {"widths": (320, 768, 1280), "format": "webp", "quality": 80}


@given(some_widths)
def test_widths_come_ascending_and_once(widths: list[int]) -> None:
    text = " , ".join(map(str, widths))
    assert parse_widths(text) == ResizeOptions(widths=tuple(widths)).widths == tuple(sorted(set(widths)))


@pytest.mark.parametrize(
    "text", ["", ",", "320,", "NaN", "100x", "0", "-1", "1e9", "1000000000", "8193", "1.5", "٣"]
)
def test_a_width_that_is_none_is_refused_with_the_range(text: str) -> None:
    with pytest.raises(ValueError, match="from 1 to 8192"):
        parse_widths(text)


@given(st.text().filter(lambda text: not any(character in "0123456789" for character in text)))
def test_text_without_digits_is_always_refused(text: str) -> None:
    with pytest.raises(ValueError, match="whole numbers"):
        parse_widths(text)


def test_more_than_eight_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="1 to 8 different widths"):
        parse_widths("1,2,3,4,5,6,7,8,9")


@pytest.mark.parametrize(
    "wish",
    [{"widths": ()}, {"widths": (0,)}, {"format": "gif"}, {"quality": 0}, {"quality": 101}, {"wdths": (1,)}],
)
def test_other_wishes_are_refused(wish: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ResizeOptions.model_validate(wish)
