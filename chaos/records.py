"""Append-only records outside the system: a line is on the disk before its writer goes on."""

import os
from pathlib import Path


def append(record: str | Path, line: str) -> None:
    """Add the line in one write, so that lines of several processes never mix."""
    descriptor = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, f"{line}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lines(record: Path) -> list[list[str]]:
    """The words of each line; none when nothing was ever written."""
    return [line.split() for line in record.read_text().splitlines()] if record.exists() else []
