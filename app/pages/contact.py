"""The contact form."""

from typing import ClassVar

from flask.typing import ResponseReturnValue
from wtforms import StringField, TextAreaField

from app.intake.emails import send_contact
from app.intake.submissions import Submission
from app.pages.blueprint import pages
from app.pages.forms import PageForm
from app.pages.submitting import sample_wanted, submit_form
from config.settings import get_settings

_SAMPLE = {
    "name": "Ada Sample",
    "subject": "A sample message",
    "message": "This message was sent with the sample button of the contact form.\n\nNobody needs to answer it.",
}


class ContactForm(PageForm):
    """Who writes, and what."""

    slot = "contact"
    missing: ClassVar = {
        "name": "Enter your name.",
        "email": "Enter your e-mail address.",
        "subject": "Enter a subject.",
        "message": "Enter a message.",
    }
    name = StringField("Your name", id="contact-name")
    email = StringField("E-mail address", id="contact-email")
    subject = StringField("Subject", id="contact-subject")
    message = TextAreaField("Message", id="contact-message")


@pages.post("/contact")
def send_message() -> ResponseReturnValue:
    """Two mails: to the site's owner, and an acknowledgement to the writer."""
    form = ContactForm()
    return submit_form(form, lambda visitor, key: _send(form, visitor, key))


def _send(form: ContactForm, visitor: str, key: str | None) -> Submission:
    if sample_wanted():
        # Written by nobody, so it is acknowledged to the owner too and no stranger gets mail.
        writer = get_settings().site_owner_email
        return send_contact(**_SAMPLE, email=writer, created_by=visitor, key=key)
    return send_contact(
        name=form.name.data or "",
        email=form.email.data or "",
        subject=form.subject.data or "",
        message=form.message.data or "",
        created_by=visitor,
        key=key,
    )
