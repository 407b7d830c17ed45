"""Newsletters: one batch, one job for each recipient, in one transaction."""

import hashlib
import json
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import Table, insert

from app.intake.recipients import Recipients
from app.intake.refusals import Refused, refuse_fields, refuse_invalid
from app.intake.submissions import Submission, submit
from db.engine import reading
from db.models import EmailDelivery, Newsletter
from db.types import new_id
from services.email.addresses import Mailbox
from services.email.errors import TemplateBroken
from services.email.fields import LongText, Title, one_line
from services.email.newsletters import delivery_context
from services.email.templates import NEWSLETTER
from services.email.unsubscribing import Subscription, ended
from tasks.emails import DeliveryRef, send_newsletter
from tasks.engine import JobHandle, UnitOfWork

# The table, not the class: the ORM's bookkeeping for ten thousand rows takes as long as inserting them.
_INSERT = insert(cast(Table, EmailDelivery.__table__))
ListName = Annotated[str, Field(min_length=1, max_length=60), AfterValidator(one_line)]


class Issue(BaseModel):
    """The words of one newsletter, and the list that its recipients can leave."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    subject: Title
    html: LongText
    text: LongText
    list_name: ListName = "newsletter"


def read_issue(fields: dict[str, str]) -> Issue:
    """From a form's fields. Raises Refused, naming every one at fault."""
    try:
        return Issue.model_validate(fields)
    except ValidationError as error:
        raise refuse_invalid("newsletter_invalid", error) from None


def subscribed(issue: Issue, recipients: Recipients) -> list[Mailbox]:
    """The recipients that have not left the list. They are asked again right before sending.

    Raises Refused when the issue cannot be rendered: each recipient's job would fail for it.
    """
    _refuse_broken(issue)
    subscriptions = [Subscription.of(each.email, issue.list_name) for each in recipients.mailboxes]
    with reading() as session:
        gone = ended(session, subscriptions)
    return [
        each
        for each, subscription in zip(recipients.mailboxes, subscriptions, strict=True)
        if subscription not in gone
    ]


def submit_newsletter(
    issue: Issue, recipients: Recipients, *, created_by: str, key: str | None = None
) -> Submission:
    """Send `issue` to everybody who is still subscribed. Raises Refused when nobody is, or its HTML is broken."""
    mailboxes = subscribed(issue, recipients)

    def enqueue(work: UnitOfWork) -> list[JobHandle]:
        if not mailboxes:
            raise Refused("all_unsubscribed", "Every recipient has left this list.")
        newsletter = work.add(Newsletter(**issue.model_dump(), created_by=created_by))
        deliveries = [_delivery(newsletter.id, mailbox, created_by) for mailbox in mailboxes]
        work.session.execute(_INSERT, deliveries)
        handles = work.enqueue_batch(
            "newsletter", [(send_newsletter, DeliveryRef(delivery_id=row["id"])) for row in deliveries]
        )
        newsletter.batch_id = handles[0].batch_id
        return handles

    content = {"kind": "newsletter", **issue.model_dump(), "recipients": _digest(recipients)}
    return submit(enqueue, job=send_newsletter, created_by=created_by, key=key, content=content)


def _refuse_broken(issue: Issue) -> None:
    link = "https://unsubscribe.example/one-of-a-kind"
    words = issue.model_dump(include={"subject", "html", "text"})
    try:
        rendered = NEWSLETTER.render(words | {"unsubscribe_url": link})
    except TemplateBroken:
        reason = "holds a style that is no CSS; each has to read like color: red"
        raise refuse_fields("newsletter_invalid", {"html": reason}) from None
    # A comment or a script that is never closed swallows the link, and what is swallowed is given no style.
    if f'href="{link}" style=' not in rendered.html:
        reason = "leaves a comment or an element open, which hides the link to unsubscribe"
        raise refuse_fields("newsletter_invalid", {"html": reason})


def _delivery(newsletter_id: str, to: Mailbox, created_by: str) -> dict[str, Any]:
    return {
        "id": new_id(),
        "template": NEWSLETTER.name,
        "to_email": to.email,
        "to_name": to.name,
        "context": delivery_context(newsletter_id),
        "created_by": created_by,
    }


def _digest(recipients: Recipients) -> str:
    """Equal for the same people in the same order with the same rows left out, however they were sent."""
    everything = (
        [(each.email, each.name) for each in recipients.mailboxes],
        recipients.duplicates,
        [(each.line, each.reason) for each in recipients.invalid],
    )
    return hashlib.sha256(json.dumps(everything).encode()).hexdigest()
