"""`flask migrate` and `flask relay`."""

import click

from app.cli.terminal import in_one_line
from db.engine import get_engine
from db.migrate import migrate
from tasks.engine.relay import run_relay


@click.command("migrate")
def migrate_command() -> None:
    """Bring the database's schema up to date."""
    in_one_line(lambda: migrate(get_engine()))
    click.echo("The database is up to date.")


@click.command("relay")
def relay_command() -> None:
    """Publish every unfinished job that is overdue, until stopped. Any number may run."""
    run_relay()
