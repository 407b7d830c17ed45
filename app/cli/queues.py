"""`flask queues`."""

import click

from app.cli.terminal import Group, ago, as_json, operator, print_json, print_table
from app.operators import pause_queue, resume_queue
from app.reading.queues import list_queues
from config.queues import Queue
from db.models.jobs import State

_SHOWN = (State.QUEUED, State.WAITING, State.RUNNING)

_name = click.argument("name", type=click.Choice([queue.value for queue in Queue]))


@click.group("queues", cls=Group)
def queues() -> None:
    """What waits where; pause and resume."""


@queues.command("list")
@as_json
def list_(as_json: bool) -> None:
    """Unfinished jobs by the ledger, and messages by the broker."""
    found = list_queues()
    if as_json:
        print_json([queue.as_json() for queue in found])
        return
    rows = [
        (
            queue.name,
            *(queue.counts.get(state, 0) for state in _SHOWN),
            ago(queue.oldest_queued) if queue.oldest_queued else None,
            queue.messages,
            f"for {ago(queue.pause.at)} by {queue.pause.by}" if queue.pause else None,
        )
        for queue in found
    ]
    header = ("QUEUE", "QUEUED", "WAITING", "RUNNING", "OLDEST", "IN BROKER", "PAUSED")
    print_table(header, rows, empty="There are no queues.")


@queues.command("pause")
@_name
def pause(name: str) -> None:
    """Let none of its jobs start until it is resumed. What runs, runs on."""
    changed = pause_queue(name, actor=operator().identity)
    click.echo("Paused. Every worker obeys within two seconds." if changed else "It is paused already.")


@queues.command("resume")
@_name
def resume(name: str) -> None:
    """Let its jobs go on."""
    click.echo("Resumed." if resume_queue(name, actor=operator().identity) else "It is not paused.")
