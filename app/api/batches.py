"""`/api/v1/batches/{id}`: look, follow, cancel."""

from typing import Any

from flask import Response, request

from app.api.blueprint import api
from app.operators import cancel_batch
from app.reading.batches import BatchView, find_batch
from app.reading.events import batch_events, event_stream
from app.security import api_viewer


@api.get("/batches/<batch_id>")
def show_batch(batch_id: str) -> dict[str, Any]:
    """The batch as it is now, with its first jobs."""
    return _with_jobs(find_batch(batch_id, api_viewer()))


@api.get("/batches/<batch_id>/events")
def follow_batch(batch_id: str) -> Response:
    """Server-sent events until every job is final."""
    return event_stream(batch_events(batch_id, api_viewer(), request.headers.get("Last-Event-ID")))


@api.post("/batches/<batch_id>/cancel")
def cancel_whole_batch(batch_id: str) -> dict[str, Any]:
    """At once what waits, at its next checkpoint what runs; finished jobs stay as they are."""
    viewer = api_viewer()
    cancel_batch(find_batch(batch_id, viewer).id, actor=viewer.identity)
    return _with_jobs(find_batch(batch_id, viewer))


def _with_jobs(batch: BatchView) -> dict[str, Any]:
    return {**batch.as_json(), "jobs": [job.as_json() for job in batch.jobs]}
