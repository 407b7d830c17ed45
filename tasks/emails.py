"""One mail to one recipient: by itself, or as one copy of a newsletter."""

from typing import Any

from services.email.compose import compose
from services.email.mailer import mailer
from services.email.newsletters import UNSUBSCRIBED, compose_newsletter
from tasks.engine import Id, Payload, Run, job


class DeliveryRef(Payload):
    """The delivery to hand over; who and what stands in its row."""

    delivery_id: Id


@job(
    queue="email",
    payload=DeliveryRef,
    # Greylisting ends after minutes, an outage after hours: about a day in all.
    max_retries=8,
    retry_backoff=60,
    retry_backoff_max=14_400,
    time_limit=120,
    # No rate, but one key: when our own login is refused, one mail finds out and the others wait.
    rate_key="smtp",
    owner="support",
)
def send_email(ref: DeliveryRef, run: Run) -> dict[str, Any]:
    """Hand one message to the SMTP server; a repeated key is answered with the stored receipt."""
    message = compose(run.session, ref.delivery_id)
    with run.once(f"email:{ref.delivery_id}") as effect:
        effect.receipt = effect.receipt or mailer().send(message)
    return effect.receipt


@job(
    queue="email_bulk",
    payload=DeliveryRef,
    rate_key="email_bulk",
    max_retries=8,
    retry_backoff=60,
    retry_backoff_max=14_400,
    # A hundred mails in one message, at a few seconds each if the server is slow.
    batch_size=100,
    time_limit=600,
    owner="support",
)
def send_newsletter(ref: DeliveryRef, run: Run) -> dict[str, Any]:
    """Hand over one copy, unless its recipient has left the list since: that is a success with nothing sent."""
    message = compose_newsletter(run.session, ref.delivery_id)
    with run.once(f"email:{ref.delivery_id}") as effect:
        effect.receipt = effect.receipt or (mailer().send(message) if message else UNSUBSCRIBED)
    return effect.receipt
