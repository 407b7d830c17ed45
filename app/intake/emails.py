"""Mails: the contact form's two, and any template for the API."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from app.intake.refusals import Refused, refuse_fields, refuse_invalid
from app.intake.submissions import Submission, submit
from config.queues import Priority
from config.settings import get_settings
from db.models import EmailDelivery
from services.email.addresses import Mailbox
from services.email.errors import BadContext, UnknownTemplate
from services.email.templates import Template, get_template
from tasks.emails import DeliveryRef, send_email
from tasks.engine import JobHandle, UnitOfWork

# Housekeeping would not wait longer for a job, and nobody means it.
FURTHEST_SEND_AT = timedelta(days=366)


def send_contact(
    *, name: str, email: str, subject: str, message: str, created_by: str, key: str | None = None
) -> Submission:
    """A batch of two: the notification to the site's owner, answerable to the writer, and an acknowledgement.

    Raises Refused naming every field at fault.
    """
    notification = _checked(
        get_template("contact_notification"),
        {"name": name, "email": email, "subject": subject, "message": message},
    )
    acknowledgement = _checked(get_template("contact_acknowledgement"), {"name": notification["name"]})
    writer = Mailbox(email=notification["email"], name=notification["name"])
    owner = Mailbox(email=get_settings().site_owner_email)

    def enqueue(work: UnitOfWork) -> list[JobHandle]:
        deliveries = (
            _delivery("contact_notification", owner, notification, created_by, reply_to=writer),
            _delivery("contact_acknowledgement", writer, acknowledgement, created_by),
        )
        return work.enqueue_batch(
            "contact", [(send_email, DeliveryRef(delivery_id=work.add(row).id)) for row in deliveries]
        )

    return submit(
        enqueue, job=send_email, created_by=created_by, key=key, content={"kind": "contact", **notification}
    )


def send_template(
    *,
    template: str,
    to: Mailbox,
    context: Mapping[str, Any],
    created_by: str,
    priority: Priority | None = None,
    send_at: datetime | None = None,
    key: str | None = None,
) -> Submission:
    """One mail from a template, at `send_at` (with a time zone) or now.

    Raises Refused for an unknown template, a context that does not fit it, or a time more than a year away.
    """
    chosen = known_template(template)
    variables = _checked(chosen, context, prefix="context.")
    urgency = priority or (Priority.HIGH if chosen.urgent else None)
    run_at = _start(send_at)
    content = {
        "kind": "email",
        "template": template,
        "to": to.model_dump(),
        "context": variables,
        "priority": priority,
        "send_at": send_at and send_at.astimezone(UTC).isoformat(),
    }

    def enqueue(work: UnitOfWork) -> list[JobHandle]:
        delivery = work.add(_delivery(template, to, variables, created_by))
        ref = DeliveryRef(delivery_id=delivery.id)
        return [work.enqueue(send_email, ref, priority=urgency, run_at=run_at)]

    return submit(enqueue, job=send_email, priority=urgency, created_by=created_by, key=key, content=content)


def known_template(name: str) -> Template:
    """The template of that name. Raises Refused, listing those there are."""
    try:
        return get_template(name)
    except UnknownTemplate as error:
        raise Refused(error.code, f"{error}.".capitalize(), field="template") from None


def mailbox(email: str, name: str = "") -> Mailbox:
    """The address, checked. Raises Refused."""
    try:
        return Mailbox(email=email, name=name)
    except ValidationError as error:
        raise refuse_invalid("address_invalid", error) from None


def _checked(template: Template, context: Mapping[str, Any], *, prefix: str = "") -> dict[str, Any]:
    try:
        return template.check(context)
    except BadContext as error:
        raise refuse_fields(error.code, error.problems, prefix=prefix) from None


def _start(send_at: datetime | None) -> datetime | None:
    """None for a time that has come. Raises Refused."""
    if send_at is None:
        return None
    try:
        send_at = send_at.astimezone(UTC)
    except OverflowError:
        message = "Send at must be between the years 1 and 9999 in UTC."
        raise Refused("send_at_too_far", message, field="send_at") from None
    if send_at <= datetime.now(UTC):
        return None
    if send_at - datetime.now(UTC) > FURTHEST_SEND_AT:
        message = f"Send at must be within {FURTHEST_SEND_AT.days} days."
        raise Refused("send_at_too_far", message, field="send_at")
    return send_at


def _delivery(
    template: str,
    to: Mailbox,
    context: dict[str, Any],
    created_by: str,
    *,
    reply_to: Mailbox | None = None,
) -> EmailDelivery:
    return EmailDelivery(
        template=template,
        to_email=to.email,
        to_name=to.name,
        reply_to_email=reply_to.email if reply_to else None,
        reply_to_name=reply_to.name if reply_to else "",
        context=context,
        created_by=created_by,
    )
