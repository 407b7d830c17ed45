"""One job's page, what keeps it live, and the list of one's own jobs."""

from typing import Any

from flask import redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from app.pages.blueprint import pages
from app.pages.timeline import timeline
from app.reading.events import event_stream
from app.reading.events import job_events as events_of
from app.reading.jobs import JobView, find_job, recent_jobs
from app.security import page_viewer
from db import ledger
from db.engine import transaction

_PER_PAGE = 50
_RESULTS = {
    "emails.send_email": "results/email.html",
    "emails.send_newsletter": "results/email.html",
    "images.resize_image": "results/images.html",
    "documents.analyse_document": "results/document.html",
}


@pages.get("/jobs")
def own_jobs() -> str:
    """One's own jobs, newest first, 50 to a page; `before` is the last id of the page before."""
    before = request.args.get("before")
    found = recent_jobs(page_viewer(), limit=_PER_PAGE + 1, before=before)
    more = len(found) > _PER_PAGE
    jobs = found[:_PER_PAGE]
    return render_template(
        "jobs.html", jobs=jobs, older=before is not None, before=jobs[-1].id if more else None
    )


@pages.get("/jobs/<job_id>")
def job(job_id: str) -> str:
    """The job as it is now; `live.js` takes the fresh parts from here too."""
    found = find_job(job_id, page_viewer())
    return render_template(
        "job.html",
        job=found,
        steps=timeline(found),
        signature=_signature(found),
        result_template=_RESULTS.get(found.type, "results/other.html"),
    )


@pages.get("/jobs/<job_id>.json")
def job_json(job_id: str) -> dict[str, Any]:
    """For clients that get no events."""
    return _as_fact(find_job(job_id, page_viewer()))


@pages.get("/jobs/<job_id>/events")
def job_events(job_id: str) -> Response:
    """Server-sent events until the job is final."""
    return event_stream(events_of(job_id, page_viewer(), request.headers.get("Last-Event-ID"), root=""))


@pages.post("/jobs/<job_id>/cancel")
def cancel_job(job_id: str) -> Response:
    """Ask for it to stop, and show what became of that."""
    found = find_job(job_id, page_viewer())
    with transaction() as connection:
        ledger.cancel(connection, found.id)
    return redirect(url_for("pages.job", job_id=found.id), 303)


def _as_fact(found: JobView) -> dict[str, Any]:
    return found.as_json(root="")


def _signature(found: JobView) -> str:
    """Changes when more than the progress does; `live.js` makes the same of a job's JSON."""
    fact = _as_fact(found)
    waits_until = fact["due_at"] if found.state == "waiting" else ""
    return f"{found.state} {found.attempts} {waits_until} {'cancel' in fact['links']}".lower()
