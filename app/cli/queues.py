"""`flask queues`."""

import click

from app.cli.terminal import Group, ago, as_json, print_json, print_table
from app.reading.queues import list_queues
from db.models.jobs import State

_SHOWN = (State.QUEUED, State.WAITING, State.RUNNING)


@click.group("queues", cls=Group)
def queues() -> None:
    """What waits where."""


@queues.command("list")
@as_json
def list_(as_json: bool) -> None:
    """Unfinished jobs by the ledger, and messages by the broker."""
    found = list_queues()
    if as_json:
        print_json(
            [
                {
                    "queue": queue.name,
                    **{state.value: queue.counts.get(state, 0) for state in _SHOWN},
                    "oldest_queued_s": queue.oldest_age and int(queue.oldest_age.total_seconds()),
                    "broker_messages": queue.messages,
                }
                for queue in found
            ]
        )
        return
    rows = [
        (
            queue.name,
            *(queue.counts.get(state, 0) for state in _SHOWN),
            ago(queue.oldest_queued) if queue.oldest_queued else None,
            queue.messages,
        )
        for queue in found
    ]
    header = ("QUEUE", "QUEUED", "WAITING", "RUNNING", "OLDEST", "IN BROKER")
    print_table(header, rows, empty="There are no queues.")
