"""What a check finds."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "unknown", "warning", "error"]


@dataclass(frozen=True)
class Finding:
    """One check's answer. `change` is what to change, as it should read, one line for each thing; None when all is well."""

    level: Level
    says: str
    change: str | None = None


def ok(says: str) -> Finding:
    """All is well, or does not apply here."""
    return Finding("ok", says)


def unknown(says: str) -> Finding:
    """It could not be asked; why not is another check's error."""
    return Finding("unknown", says)


def warning(says: str, change: str) -> Finding:
    """It works, and will hurt some day."""
    return Finding("warning", says, change)


def error(says: str, change: str) -> Finding:
    """It does not work, or loses or doubles things."""
    return Finding("error", says, change)
