"""One mail to one recipient."""

from typing import Any

from services.email.compose import compose
from services.email.mailer import mailer
from tasks.engine import Payload, Run, job


class DeliveryRef(Payload):
    """The delivery to hand over; who and what stands in its row."""

    delivery_id: str


@job(
    queue="email",
    payload=DeliveryRef,
    # Greylisting ends after minutes, an outage after hours: about a day in all.
    max_retries=8,
    retry_backoff=60,
    retry_backoff_max=14_400,
    time_limit=120,
    owner="support",
)
def send_email(ref: DeliveryRef, run: Run) -> dict[str, Any]:
    """Hand one message to the SMTP server; a repeated key is answered with the stored receipt."""
    message = compose(run.session, ref.delivery_id)
    with run.once(f"email:{ref.delivery_id}") as effect:
        effect.receipt = effect.receipt or mailer().send(message)
    return effect.receipt
