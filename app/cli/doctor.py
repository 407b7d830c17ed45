"""`flask doctor`."""

from collections import Counter
from dataclasses import asdict
from typing import get_args

import click

from app.cli.terminal import as_json, print_json
from app.operations.doctor import CHECKS, examine
from app.operations.doctor.finding import Level


@click.command("doctor")
@as_json
@click.pass_context
def doctor_command(context: click.Context, as_json: bool) -> None:
    """Look for what would lose jobs or expose them; the exit code is 1 when there is an error."""
    found = []
    width = max(map(len, CHECKS))
    for name, finding in examine():
        found.append((name, finding))
        if as_json:
            continue
        click.echo(f"{finding.level:<7}  {name:<{width}}  {finding.says}")
        for line in (finding.change or "").splitlines():
            click.echo(f"{'':<7}  {'':<{width}}  change: {line}")
    counts = Counter(finding.level for _, finding in found)
    if as_json:
        print_json([{"check": name, **asdict(finding)} for name, finding in found])
    else:
        click.echo(", ".join(f"{level}: {counts[level]}" for level in get_args(Level)))
    context.exit(1 if counts["error"] else 0)
