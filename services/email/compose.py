"""From a row to a message: rendered, encoded, addressed to one person."""

from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime

from pydantic import ValidationError
from sqlalchemy.orm import Session

from db.models.email import EmailDelivery
from services.email.addresses import Mailbox, sender
from services.email.errors import AddressRejected, DeliveryGone
from services.email.headers import encode_mailbox, encode_text
from services.email.templates import get_template

# `none`: headers go out as services.email.headers wrote them. `7bit`: no server has to be asked for 8BITMIME.
_POLICY = policy.SMTP.clone(refold_source="none", cte_type="7bit")


def compose(session: Session, delivery_id: str) -> EmailMessage:
    """The message of one delivery; composing it again gives the same Message-ID.

    Raises DeliveryGone, UnknownTemplate, BadContext, TemplateBroken or AddressRejected, all permanent, and
    MailerMisconfigured when MAIL_FROM is not an address.
    """
    delivery = find_delivery(session, delivery_id)
    template = get_template(delivery.template)
    rendered = template.render(delivery.context)
    reply_to = delivery.reply_to_email
    return letter(
        to=stored_mailbox(delivery.to_email, delivery.to_name),
        subject=rendered.subject,
        text=rendered.text,
        html=rendered.html,
        reply_to=stored_mailbox(reply_to, delivery.reply_to_name) if reply_to else None,
        local_id=delivery.id,
        automatic=template.automatic,
    )


def letter(
    *,
    to: Mailbox,
    subject: str,
    text: str,
    local_id: str,
    html: str | None = None,
    reply_to: Mailbox | None = None,
    automatic: bool = True,
    unsubscribe_url: str | None = None,
) -> EmailMessage:
    """A message from MAIL_FROM to one mailbox; `subject` is one line.

    `local_id` is the left half of the Message-ID, so a message that is sent twice can be known as one.
    `unsubscribe_url` is where a POST ends the recipient's subscription (RFC 8058).
    """
    ours = sender()
    headers = {
        "From": encode_mailbox(ours, header="From"),
        "To": encode_mailbox(to, header="To"),
        "Subject": encode_text(subject, header="Subject"),
        "Date": format_datetime(datetime.now(UTC)),
        "Message-ID": f"<{local_id}@{ours.domain}>",
    }
    if reply_to is not None:
        headers["Reply-To"] = encode_mailbox(reply_to, header="Reply-To")
    if automatic:
        headers["Auto-Submitted"] = "auto-generated"
    if unsubscribe_url is not None:
        headers["List-Unsubscribe"] = f"<{unsubscribe_url}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    message = EmailMessage(_POLICY)
    for name, value in headers.items():
        message.set_raw(name, value)
    message.set_content(text)
    if html is not None:
        message.add_alternative(html, subtype="html")
    return message


def find_delivery(session: Session, delivery_id: str) -> EmailDelivery:
    """The row of one mail. Raises DeliveryGone."""
    delivery = session.get(EmailDelivery, delivery_id)
    if delivery is None:
        raise DeliveryGone("the mail's row no longer exists")
    return delivery


def stored_mailbox(email: str, name: str) -> Mailbox:
    """An address and a name from a row. Raises AddressRejected."""
    try:
        return Mailbox(email=email, name=name)
    except ValidationError:
        raise AddressRejected("the stored address is not one that mail can be sent to") from None
