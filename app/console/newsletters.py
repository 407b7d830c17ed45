"""`/console/newsletters`: write one, see whom it would reach, send it, follow it and stop it."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from flask import flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import select

from app.console.blueprint import console, operator
from app.intake.newsletters import Issue, read_issue, submit_newsletter, subscribed
from app.intake.recipients import Recipients, decode, from_text
from app.intake.refusals import Refused
from app.intake.uploads import receive
from app.operators import cancel_batch, pause_queue, resume_queue
from app.pages.words import standing
from app.reading.batches import find_batch
from app.reading.events import batch_events, event_stream
from app.reading.queues import pauses
from app.reading.visible import NotFound
from db.engine import reading
from db.models import Batch, Newsletter
from tasks.emails import send_newsletter

_LATEST = 20
_FIELDS = ("subject", "text", "html", "list_name")


@console.get("/newsletters")
def newsletters() -> str:
    """The empty form, and what was sent lately."""
    return _form_page({"list_name": "newsletter", "submission": uuid.uuid4().hex}, {})


@console.post("/newsletters")
def prepare_newsletter() -> ResponseReturnValue:
    """`step` says which button: `preview` stores nothing and shows who would get it, `send` sends what was previewed,
    `change` goes back to the form. What was typed, and the list, travel in the page."""
    typed = {name: request.form.get(name, "") for name in (*_FIELDS, "recipients", "submission")}
    if request.form.get("step") == "change":
        return _form_page(typed, {})
    try:
        typed["recipients"] = _uploaded() or typed["recipients"]
        issue = read_issue({name: typed[name] for name in _FIELDS})
        recipients = from_text(typed["recipients"], name="recipients", header=False)
        if request.form.get("step") == "send":
            return _send(issue, recipients, typed["submission"])
        return _preview(issue, recipients, typed)
    except Refused as refused:
        return _form_page(typed, refused.fields or {"recipients": refused.message}), refused.status


@console.get("/newsletters/<batch_id>")
def newsletter(batch_id: str) -> str:
    """How far it is; `live.js` takes the fresh parts from here too."""
    batch = find_batch(batch_id, operator())
    with reading() as session:
        row = session.scalar(select(Newsletter).where(Newsletter.batch_id == batch.id))
    if row is None:
        raise NotFound
    return render_template(
        "console/newsletter.html",
        newsletter=row,
        batch=batch,
        standing=standing(batch),
        pause=pauses().get(send_newsletter.queue),
        queue=send_newsletter.queue,
        signature=json.dumps(batch.counts, separators=(",", ":")),
    )


@console.get("/newsletters/<batch_id>.json")
def newsletter_json(batch_id: str) -> dict[str, Any]:
    """For clients that get no events."""
    return find_batch(batch_id, operator()).as_json(root="")


@console.get("/newsletters/<batch_id>/events")
def newsletter_events(batch_id: str) -> ResponseReturnValue:
    """Server-sent events until every job is final."""
    return event_stream(batch_events(batch_id, operator(), request.headers.get("Last-Event-ID"), root=""))


@console.post("/newsletters/<batch_id>/pause")
def pause_newsletter(batch_id: str) -> ResponseReturnValue:
    """Let no newsletter's mail start: what can be paused is a queue, and they share one."""
    pause_queue(send_newsletter.queue, actor=operator().identity)
    return redirect(url_for("console.newsletter", batch_id=batch_id), 303)


@console.post("/newsletters/<batch_id>/resume")
def resume_newsletter(batch_id: str) -> ResponseReturnValue:
    """Let them go on."""
    resume_queue(send_newsletter.queue, actor=operator().identity)
    return redirect(url_for("console.newsletter", batch_id=batch_id), 303)


@console.post("/newsletters/<batch_id>/cancel")
def cancel_newsletter(batch_id: str) -> ResponseReturnValue:
    """Send no more of it; what is sent is sent."""
    cancel_batch(batch_id, actor=operator().identity)
    return redirect(url_for("console.newsletter", batch_id=batch_id), 303)


def _uploaded() -> str:
    """The text of the chosen file, or nothing when none was chosen. Its first line has to name the columns."""
    if not any(file.filename for file in request.files.getlist("file")):
        return ""
    (upload,) = receive(request.files.getlist("file"), field="recipients", at_most=1)
    text = decode(upload.stream.read(), name="recipients")
    from_text(text, name="recipients", header=True)
    return text


def _preview(issue: Issue, recipients: Recipients, typed: Mapping[str, str]) -> str:
    reached = len(subscribed(issue, recipients))
    return render_template(
        "console/newsletter_preview.html",
        issue=issue,
        typed=typed,
        reached=reached,
        unsubscribed=len(recipients.mailboxes) - reached,
        duplicates=recipients.duplicates,
        invalid=recipients.invalid,
    )


def _send(issue: Issue, recipients: Recipients, submission: str) -> ResponseReturnValue:
    """A second click on the same preview leads to the same newsletter."""
    actor = operator().identity
    sent = submit_newsletter(issue, recipients, created_by=actor, key=submission or None)
    flash(f"Accepted for {len(sent.jobs):,} recipients.")
    return redirect(url_for("console.newsletter", batch_id=sent.jobs[0].batch_id), 303)


def _form_page(typed: Mapping[str, str], faults: Mapping[str, str]) -> str:
    query = (
        select(Newsletter.subject, Batch.id, Batch.total, Batch.created_at)
        .join(Batch, Batch.id == Newsletter.batch_id)
        .order_by(Newsletter.id.desc())
        .limit(_LATEST)
    )
    with reading() as session:
        sent = session.execute(query).all()
    return render_template("console/newsletters.html", typed=typed, faults=faults, sent=sent)
