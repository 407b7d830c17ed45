"""The consumer of the `dead_letter` route: it tells the owner, once for a whole outage."""

from typing import Any, Literal

from sqlalchemy import func, select

from config.settings import get_settings
from db.models import DeadLetter
from services.alerts import Alert, alert_url, log_alert, mail_alert, post_alert
from tasks.engine import Payload, Run, job


class LettersRef(Payload):
    """Dead letters of one kind, and the way to tell about them."""

    fingerprint: str
    channel: Literal["log", "email", "webhook"]


@job(
    name="dead_letter.alert",
    queue="dead_letter",
    payload=LettersRef,
    max_retries=10,
    retry_backoff=30,
    time_limit=90,
    owner="operators",
)
def alert_owner(ref: LettersRef, run: Run) -> dict[str, Any]:
    """Say how many letters of this kind are open. Each channel is a job of its own, so one cannot hold up another."""
    alert = _alert(ref, run)
    settings = get_settings()
    if alert is None:
        return {"open_letters": 0}
    with run.once(f"alert:{run.job_id}") as effect:
        if ref.channel == "email" and settings.alert_email:
            effect.receipt = effect.receipt or mail_alert(alert, to=settings.alert_email, local_id=run.job_id)
        elif ref.channel == "webhook" and settings.alert_webhook_url:
            effect.receipt = effect.receipt or post_alert(alert, url=settings.alert_webhook_url)
        else:
            log_alert(alert)
    return {"open_letters": alert.open_letters, "receipt": effect.receipt}


def _alert(ref: LettersRef, run: Run) -> Alert | None:
    open_ones = (DeadLetter.fingerprint == ref.fingerprint, DeadLetter.resolution.is_(None))
    letter = run.session.scalar(select(DeadLetter).where(*open_ones).order_by(DeadLetter.id.desc()).limit(1))
    if letter is None:
        return None
    return Alert(
        fingerprint=letter.fingerprint,
        owner=letter.owner,
        type=letter.type,
        queue=letter.queue,
        reason=letter.reason,
        code=letter.error_code,
        message=letter.error_message,
        open_letters=run.session.scalar(select(func.count()).select_from(DeadLetter).where(*open_ones)) or 0,
        url=alert_url(letter.fingerprint),
    )
