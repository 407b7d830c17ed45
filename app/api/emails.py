"""`POST /api/v1/emails`: one mail from a template."""

from typing import Any

from flask import Response
from pydantic import AwareDatetime, Field

from app.api.answers import accepted
from app.api.blueprint import api
from app.api.bodies import Body, idempotency_key, json_body
from app.intake.emails import send_template
from app.security import Scope, api_viewer
from config.queues import Priority
from services.email.addresses import Mailbox


class EmailBody(Body):
    """Whom to send what, and when. Without a priority it is the template's: high for a password reset, else normal."""

    template: str
    to: Mailbox
    context: dict[str, Any] = Field(default_factory=dict)
    priority: Priority | None = None
    send_at: AwareDatetime | None = None


@api.post("/emails")
def send_email() -> Response:
    """Accept a mail."""
    viewer = api_viewer(Scope.SUBMIT)
    body = json_body(EmailBody)
    submission = send_template(
        template=body.template,
        to=body.to,
        context=body.context,
        priority=body.priority,
        send_at=body.send_at,
        created_by=viewer.identity,
        key=idempotency_key(),
    )
    return accepted(submission, viewer)
