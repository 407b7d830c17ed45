"""How commands talk: one line for an error, aligned columns for lists, JSON for programs."""

import getpass
import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import click
from sqlalchemy.exc import SQLAlchemyError

from app.reading.visible import NotFound
from app.security import Scope, Viewer
from db.ledger import AlreadyResolved, JobNotFound, LetterNotFound, WrongResolution
from tasks.engine.patience import database_is_away

F = TypeVar("F", bound=Callable[..., Any])

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
limit = click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True)


class Group(click.Group):
    """A group whose commands end in one line and exit code 1 when the ledger refuses."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises click.ClickException for what an operator can understand."""
        return in_one_line(lambda: super(Group, self).invoke(ctx))


def in_one_line(run: Callable[[], Any]) -> Any:
    """Call `run`. Raises click.ClickException in place of refusals and of a database that is away."""
    try:
        return run()
    except (NotFound, JobNotFound):
        raise click.ClickException("There is nothing with this id.") from None
    except LetterNotFound:
        raise click.ClickException("There is no dead letter with this id.") from None
    except (AlreadyResolved, WrongResolution) as error:
        raise click.ClickException(str(error)) from None
    except SQLAlchemyError as error:
        if not database_is_away(error):
            raise
        message = "The database does not answer, or has not been migrated (flask migrate)."
        raise click.ClickException(message) from None


def operator() -> Viewer:
    """Who is at the terminal, for the audit log; may see everything."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError):
        # A container's user often has a number only.
        name = str(os.getuid())
    return Viewer(f"cli:{name}"[:80], frozenset({Scope.OPERATE}))


def print_table(header: Sequence[str], rows: Sequence[Sequence[object]], *, empty: str) -> None:
    """Columns as wide as their longest cell, figures to the right; `empty` when there are no rows."""
    if not rows:
        click.echo(empty)
        return
    cells = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(len(line[at]) for line in (list(header), *cells)) for at in range(len(header))]
    right = [all(isinstance(row[at], int) or row[at] is None for row in rows) for at in range(len(header))]
    for line in (header, *cells):
        parts = (
            f"{cell:{'>' if to else '<'}{width}}" for cell, width, to in zip(line, widths, right, strict=True)
        )
        click.echo("  ".join(parts).rstrip())


def print_facts(facts: dict[str, object]) -> None:
    """One `name  value` per line; nested values as JSON, texts of several lines below their name."""
    width = max(map(len, facts))
    for name, value in facts.items():
        text = json.dumps(value) if isinstance(value, (dict, list)) else "-" if value is None else str(value)
        if "\n" in text:
            text = "\n" + "\n".join(f"    {line}" for line in text.splitlines())
        click.echo(f"{name:<{width}}  {text}")


def print_json(value: object) -> None:
    """Indented JSON."""
    click.echo(json.dumps(value, indent=2))


def ago(moment: datetime) -> str:
    """`90 s`, `12 min`, `5 h`, `3 d` since then."""
    seconds = int((datetime.now(UTC) - moment).total_seconds())
    for unit, size, most in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172_800)):
        if seconds < most:
            return f"{seconds // size} {unit}"
    return f"{seconds // 86_400} d"
