"""From a posted form to its jobs' page, or back to the form with what is wrong."""

import uuid
from collections.abc import Callable

from flask import redirect, request, url_for
from flask.typing import ResponseReturnValue

from app.intake.refusals import Refused
from app.intake.submissions import Submission
from app.pages.forms import PageForm
from app.pages.home import render_home
from app.security import page_viewer

# Takes who asks and the idempotency key.
Send = Callable[[str, str | None], Submission]


def sample_wanted() -> bool:
    """Whether the button "Try it with a sample" was pressed."""
    return "sample" in request.form


def submit_form(form: PageForm, send: Send) -> ResponseReturnValue:
    """Send the form and go where its jobs can be watched, or show it again with what is wrong."""
    try:
        submission = _send(form, send)
    except Refused as refused:
        form.refuse(refused)
        return render_home(form), refused.status, refused.headers
    return redirect(_page_of(submission), 303)


def _send(form: PageForm, send: Send) -> Submission:
    visitor = page_viewer().identity
    try:
        return send(visitor, form.key)
    except Refused as refused:
        if refused.code != "idempotency_key_reused":
            raise
    # The person went back and changed what the form says: that is another submission.
    return send(visitor, uuid.uuid4().hex)


def _page_of(submission: Submission) -> str:
    if submission.batch_id is not None and len(submission.jobs) > 1:
        return url_for("pages.batch", batch_id=submission.batch_id)
    return url_for("pages.job", job_id=submission.jobs[0].id)
