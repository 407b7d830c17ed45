"""A dead letter's message on the `dead_letter` route: one alert per kind of failure and quarter of an hour."""

from datetime import UTC, datetime, timedelta

from config.settings import Settings, get_settings
from db import ledger
from tasks.engine.job import JOBS
from tasks.engine.outbox import UnitOfWork

ALERT = "dead_letter.alert"

# An outage fills the dead letters within seconds; the first alert waits so long that it can tell how many.
_GATHERING = timedelta(seconds=20)
# Further letters of the same kind are told of after this.
QUIET = timedelta(minutes=15)


def announce(work: UnitOfWork, letter: ledger.Letter) -> None:
    """Enqueue the alerts about the letter's kind, unless that was done a moment ago."""
    if letter.type == ALERT:
        # An alert about alerts that fail would fail as well; the letter itself stays to be seen.
        return
    connection = work.session.connection()
    key = f"alert:{letter.fingerprint}"
    if ledger.reserve(connection, key, fingerprint="", lifetime=QUIET) is not None:
        return
    job = JOBS[ALERT]
    run_at = datetime.now(UTC) + _GATHERING
    handles = [
        work.enqueue(job, job.payload(fingerprint=letter.fingerprint, channel=channel), run_at=run_at)
        for channel in _channels(get_settings())
    ]
    ledger.bind(connection, key, handles[0].id)


def _channels(settings: Settings) -> list[str]:
    configured = {"email": settings.alert_email, "webhook": settings.alert_webhook_url}
    return ["log", *(channel for channel, target in configured.items() if target)]
