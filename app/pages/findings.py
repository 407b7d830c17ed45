"""An extraction's findings, as its page lists them: the text as written and, where it adds something, its exact form."""

import re
from typing import Any

Finding = tuple[str, str]


def named(names: list[str]) -> list[Finding]:
    """Names have no other form."""
    return [(name, "") for name in names]


def found_dates(answer: dict[str, Any]) -> list[Finding]:
    """Dates with their ISO form, unless they are written in it or are not complete."""
    return [
        (date["text"], "" if date["iso"] == date["text"] else date["iso"] or "") for date in answer["dates"]
    ]


def found_amounts(answer: dict[str, Any]) -> list[Finding]:
    """Sums with their number, where the text does not show it already (`2.5 million`)."""
    return [(amount["text"], _exact(amount)) for amount in answer["amounts"]]


def score(number: float) -> str:
    """A sentiment's score with its sign: `+0.10`, `−0.25`."""
    return f"{number:+.2f}".replace("-", "−")


def _exact(amount: dict[str, Any]) -> str:
    digits = re.sub(r"\D", "", amount["text"])
    if re.sub(r"\D", "", amount["value"]) in digits:
        return ""
    return " ".join(part for part in (amount["value"], amount["currency"]) if part)
