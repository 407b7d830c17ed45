"""`POST /api/v1/newsletters`: one text to many, each with a mail of their own."""

from dataclasses import asdict
from typing import Any

from flask import Response, jsonify, request
from pydantic import Field

from app.api.answers import mark_accepted
from app.api.blueprint import api
from app.api.bodies import Body, form_fields, idempotency_key, json_body
from app.intake.newsletters import Issue, ListName, read_issue, submit_newsletter
from app.intake.recipients import MOST_RECIPIENTS, Recipients, decode, from_list, from_text
from app.intake.uploads import receive
from app.reading.batches import find_batch
from app.security import Scope, api_viewer
from services.email.addresses import Mailbox
from services.email.fields import LongText, Title

_RECIPIENT = Mailbox.model_json_schema()


class NewsletterBody(Body):
    """What to send to whom. A recipient that is no address is reported and left out, not refused."""

    subject: Title
    html: LongText
    text: LongText
    list_name: ListName = Field(default="newsletter", description="What its recipients can leave")
    recipients: list[Any] = Field(
        alias="list",
        json_schema_extra={"items": _RECIPIENT, "minItems": 1, "maxItems": MOST_RECIPIENTS},
    )


@api.post("/newsletters")
def send_newsletter() -> Response:
    """Accept a newsletter, with its recipients in JSON or as a CSV file."""
    viewer = api_viewer(Scope.NEWSLETTERS)
    issue, recipients = _from_form() if request.mimetype == "multipart/form-data" else _from_json()
    submission = submit_newsletter(issue, recipients, created_by=viewer.identity, key=idempotency_key())
    batch = find_batch(submission.jobs[0].batch_id or "", viewer).as_json()
    figures = {
        "accepted": len(submission.jobs),
        "duplicates": recipients.duplicates,
        "invalid": [asdict(each) for each in recipients.invalid],
        "unsubscribed": len(recipients.mailboxes) - len(submission.jobs),
    }
    return mark_accepted(jsonify(batch=batch, recipients=figures), batch["links"]["self"], submission)


def _from_json() -> tuple[Issue, Recipients]:
    body = json_body(NewsletterBody)
    issue = Issue(subject=body.subject, html=body.html, text=body.text, list_name=body.list_name)
    return issue, from_list(body.recipients, name="list")


def _from_form() -> tuple[Issue, Recipients]:
    fields = form_fields("subject", "html", "text", "list_name", files="recipients")
    issue = read_issue(fields)
    (upload,) = receive(request.files.getlist("recipients"), field="recipients", at_most=1)
    text = decode(upload.stream.read(), name="recipients")
    return issue, from_text(text, name="recipients", header=True)
