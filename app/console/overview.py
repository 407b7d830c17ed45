"""`/console`: how things stand."""

from datetime import UTC, datetime

from flask import render_template

from app.console import standing
from app.console.blueprint import console


@console.get("")
def overview() -> str:
    """Read anew each time; console.js takes the fresh parts from here too."""
    hour = standing.last_hour()
    return render_template(
        "console/overview.html",
        parts=standing.parts(),
        hour=hour,
        queues=standing.queue_rows(hour),
        open_letters=standing.open_letters(),
        failures=standing.recent_failures(),
        as_of=datetime.now(UTC),
    )
