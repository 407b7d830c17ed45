"""`flask health`: exit codes for health checks, 0 or 1. Judged by the ledger, so a process may run anywhere."""

import click

from app.cli.terminal import Group
from app.operations.canaries import beat_stands_still, canaries, unserved
from app.operations.relay import LATE, behind
from config.queues import Queue


@click.group("health", cls=Group)
def health() -> None:
    """Whether the others do their work; the exit code is 1 when not."""


@health.command("queues")
@click.argument("names", metavar="QUEUE[,QUEUE…]")
def queues(names: str) -> None:
    """Whether somebody consumes these queues: a ping is no proof, a canary that arrives is."""
    wanted = {name.strip() for name in names.split(",")}
    if unknown := wanted - set(Queue):
        raise click.BadParameter(f"there is no queue {', '.join(sorted(unknown))}", param_hint="QUEUE")
    nobody = [
        f"{queue} (for {int(since.total_seconds())} s)"
        for queue, since in unserved(canaries()).items()
        if queue in wanted
    ]
    _end(f"nobody consumes {', '.join(nobody)}" if nobody else None)


@health.command("beat")
def beat() -> None:
    """Whether beat has submitted a canary of late."""
    _end("beat submits nothing" if beat_stands_still(canaries()) else None)


@health.command("relay")
def relay() -> None:
    """Whether what is due gets published."""
    late = behind()
    _end(f"a job is overdue by {int(late.total_seconds())} s" if late > LATE else None)


def _end(fault: str | None) -> None:
    if fault is not None:
        raise click.ClickException(fault)
    click.echo("ok")
