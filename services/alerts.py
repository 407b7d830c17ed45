"""Tell people that something needs them: by log, by mail and by webhook, whichever are configured."""

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

import httpx2
import structlog

from config.settings import get_settings
from services.email.addresses import Mailbox
from services.email.compose import letter
from services.email.mailer import mailer
from services.errors import Permanent, Transient

log = structlog.get_logger()

_WEBHOOK_TIMEOUT_S = 10.0


class WebhookUnavailable(Transient):
    """The receiver of alerts does not answer, or asks for patience."""

    code = "webhook_unavailable"


class WebhookRefused(Permanent):
    """The receiver of alerts will not take this alert."""

    code = "webhook_refused"


@dataclass(frozen=True)
class Alert:
    """One kind of failure and how often it stands open. No contents of jobs."""

    fingerprint: str
    owner: str
    type: str
    queue: str
    reason: str
    code: str
    message: str
    open_letters: int
    url: str

    @property
    def subject(self) -> str:
        """One line for people."""
        count = "1 dead letter" if self.open_letters == 1 else f"{self.open_letters} dead letters"
        return f"[{self.owner}] {count}: {self.type}, {self.code}"


def log_alert(alert: Alert) -> None:
    """The way that needs no configuration."""
    log.error("dead_letters.open", **{key: value for key, value in asdict(alert).items() if key != "message"})


def mail_alert(alert: Alert, *, to: str, local_id: str) -> dict[str, Any]:
    """Send it to ALERT_EMAIL and return the receipt. Raises what `Mailer.send` raises."""
    text = (
        f"{alert.subject}\n\n"
        f"Queue: {alert.queue}\nReason: {alert.reason}\nError: {alert.message}\n\n"
        f"Look at them, then replay or discard: {alert.url}\n"
    )
    return mailer().send(letter(to=Mailbox(email=to), subject=alert.subject, text=text, local_id=local_id))


def post_alert(alert: Alert, *, url: str) -> dict[str, Any]:
    """POST it as JSON to ALERT_WEBHOOK_URL; `text` is what chat systems show. Raises WebhookUnavailable, WebhookRefused."""
    try:
        answer = httpx2.post(url, json={"text": alert.subject, **asdict(alert)}, timeout=_WEBHOOK_TIMEOUT_S)
    except httpx2.HTTPError as error:
        raise WebhookUnavailable("The alert webhook does not answer.") from error
    if answer.status_code == 429 or answer.status_code >= 500:
        raise WebhookUnavailable(
            f"The alert webhook answered {answer.status_code}.", retry_after=_pause(answer)
        )
    if answer.is_error:
        raise WebhookRefused(f"The alert webhook answered {answer.status_code}.")
    return {"status": answer.status_code}


def alert_url(fingerprint: str) -> str:
    """Where an operator sees these letters."""
    return f"{get_settings().public_url.rstrip('/')}/console/dead-letters?fingerprint={fingerprint}"


def _pause(answer: httpx2.Response) -> timedelta | None:
    seconds = answer.headers.get("retry-after", "")
    return timedelta(seconds=int(seconds)) if seconds.isdigit() else None
