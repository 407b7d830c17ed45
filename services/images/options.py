"""What a person may ask of a resize: checked once at the door, then carried in the job's payload."""

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

OutputFormat = Literal["webp", "avif", "jpeg", "png"]

MAX_WIDTH = 8192
MAX_WIDTHS = 8

_NUMBER = re.compile(r"[0-9]{1,4}")


class ResizeOptions(BaseModel):
    """The wanted widths in pixels (kept ascending, each once), the output format, and the encoder's quality.

    `quality` (1..100) is the encoder's own scale; PNG loses nothing and ignores it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    widths: tuple[int, ...] = (320, 768, 1280)
    format: OutputFormat = "webp"
    quality: Annotated[int, Field(ge=1, le=100)] = 80

    @field_validator("widths")
    @classmethod
    def _ascending(cls, widths: tuple[int, ...]) -> tuple[int, ...]:
        return _checked(widths)


def parse_widths(text: str) -> tuple[int, ...]:
    """Read widths as a form or a query carries them, such as `320,768,1280`; ascending, each once.

    Raises ValueError with a message for people.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(_NUMBER.fullmatch(part) for part in parts):
        raise ValueError(
            f"Widths are whole numbers of pixels from 1 to {MAX_WIDTH}, separated by commas, such as 320,768,1280."
        )
    return _checked(tuple(int(part) for part in parts))


def _checked(widths: tuple[int, ...]) -> tuple[int, ...]:
    if not all(1 <= width <= MAX_WIDTH for width in widths):
        raise ValueError(f"Each width is from 1 to {MAX_WIDTH} pixels.")
    distinct = tuple(sorted(set(widths)))
    if not 1 <= len(distinct) <= MAX_WIDTHS:
        raise ValueError(f"Ask for 1 to {MAX_WIDTHS} different widths.")
    return distinct
