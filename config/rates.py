"""Rates as Celery writes them (`100/h`, `50/m`, `10/s`), parsed once into numbers."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Self

_UNITS = {"s": timedelta(seconds=1), "m": timedelta(minutes=1), "h": timedelta(hours=1)}
_FORM = re.compile(r"(?P<limit>[1-9]\d*)/(?P<unit>[smh])")


@dataclass(frozen=True)
class Rate:
    """At most `limit` starts in any window of length `per`, or so much weight where jobs have one."""

    limit: int
    per: timedelta

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `50/m`; raise ValueError for anything else, zero included."""
        match = _FORM.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a rate; write it as 10/s, 50/m or 100/h")
        return cls(limit=int(match["limit"]), per=_UNITS[match["unit"]])
