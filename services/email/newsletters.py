"""A newsletter's copy for one recipient. The words stand once in the newsletter's row; a delivery only names it."""

from email.message import EmailMessage
from typing import Any

from sqlalchemy.orm import Session

from db.models import EmailDelivery, Newsletter
from services.email.compose import find_delivery, letter, stored_mailbox
from services.email.errors import DeliveryGone
from services.email.templates import NEWSLETTER
from services.email.unsubscribing import Subscription, ended

# What a job ends with, in success, when there was nothing to send.
UNSUBSCRIBED = {"skipped": "unsubscribed"}


def delivery_context(newsletter_id: str) -> dict[str, Any]:
    """What a delivery of this newsletter keeps."""
    return {"newsletter_id": newsletter_id}


def compose_newsletter(session: Session, delivery_id: str) -> EmailMessage | None:
    """The message of one delivery, or None when its recipient has left the list by now.

    Raises as `compose` does.
    """
    delivery = find_delivery(session, delivery_id)
    newsletter = session.get(Newsletter, delivery.context["newsletter_id"])
    if newsletter is None:
        raise DeliveryGone("the newsletter's row no longer exists")
    subscription = Subscription.of(delivery.to_email, newsletter.list_name)
    if ended(session, [subscription]):
        return None
    return _copy(newsletter, delivery, subscription.link)


def _copy(newsletter: Newsletter, delivery: EmailDelivery, unsubscribe_url: str) -> EmailMessage:
    rendered = NEWSLETTER.render(
        {
            "subject": newsletter.subject,
            "html": newsletter.html,
            "text": newsletter.text,
            "unsubscribe_url": unsubscribe_url,
        }
    )
    return letter(
        to=stored_mailbox(delivery.to_email, delivery.to_name),
        subject=rendered.subject,
        text=rendered.text,
        html=rendered.html,
        local_id=delivery.id,
        automatic=False,
        unsubscribe_url=unsubscribe_url,
    )
