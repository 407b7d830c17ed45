"""Commands for operators: `flask <command>` from the project's root."""

from flask import Flask

from app.cli.batches import batches
from app.cli.dead_letters import dead_letters
from app.cli.doctor import doctor_command
from app.cli.health import health
from app.cli.jobs import jobs
from app.cli.queues import queues
from app.cli.running import migrate_command, relay_command
from app.cli.tokens import tokens


def register(app: Flask) -> None:
    """Add the commands to `app`."""
    for command in (
        migrate_command,
        relay_command,
        doctor_command,
        health,
        tokens,
        jobs,
        batches,
        dead_letters,
        queues,
    ):
        app.cli.add_command(command)
