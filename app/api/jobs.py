"""`/api/v1/jobs/{id}`: look, follow, cancel."""

from typing import Any

from flask import Response, request

from app.api.blueprint import api
from app.operators import cancel_job
from app.reading.events import event_stream, job_events
from app.reading.jobs import find_job
from app.security import api_viewer


@api.get("/jobs/<job_id>")
def show_job(job_id: str) -> dict[str, Any]:
    """The job as it is now."""
    return find_job(job_id, api_viewer()).as_json()


@api.get("/jobs/<job_id>/events")
def follow_job(job_id: str) -> Response:
    """Server-sent events until the job is final."""
    return event_stream(job_events(job_id, api_viewer(), request.headers.get("Last-Event-ID")))


@api.post("/jobs/<job_id>/cancel")
def cancel(job_id: str) -> dict[str, Any]:
    """At once if the job waits, at its next checkpoint if it runs; a finished job stays as it is."""
    viewer = api_viewer()
    cancel_job(find_job(job_id, viewer).id, actor=viewer.identity)
    return find_job(job_id, viewer).as_json()
