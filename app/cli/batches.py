"""`flask batches`."""

import click

from app.cli.terminal import Group, as_json, operator, print_facts, print_json
from app.operators import cancel_batch
from app.reading.batches import find_batch


@click.group("batches", cls=Group)
def batches() -> None:
    """Look at batches and cancel them."""


@batches.command("show")
@click.argument("batch_id")
@as_json
def show(batch_id: str, as_json: bool) -> None:
    """How many of its jobs are in which state."""
    batch = find_batch(batch_id, operator()).as_json()
    if as_json:
        print_json(batch)
        return
    print_facts({name: value for name, value in batch.items() if name != "links"})


@batches.command("cancel")
@click.argument("batch_id")
def cancel(batch_id: str) -> None:
    """At once what waits, at its next checkpoint what runs."""
    count = cancel_batch(batch_id, actor=operator().identity)
    click.echo(f"Cancelled, or about to stop: {count:,}." if count else "All of its jobs had ended before.")
