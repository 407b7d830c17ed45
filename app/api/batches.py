"""`/api/v1/batches/{id}`: look, follow."""

from typing import Any

from flask import Response, request

from app.api.blueprint import api
from app.reading.batches import find_batch
from app.reading.events import batch_events, event_stream
from app.security import api_viewer


@api.get("/batches/<batch_id>")
def show_batch(batch_id: str) -> dict[str, Any]:
    """The batch as it is now, with its first jobs."""
    batch = find_batch(batch_id, api_viewer())
    return {**batch.as_json(), "jobs": [job.as_json() for job in batch.jobs]}


@api.get("/batches/<batch_id>/events")
def follow_batch(batch_id: str) -> Response:
    """Server-sent events until every job is final."""
    return event_stream(batch_events(batch_id, api_viewer(), request.headers.get("Last-Event-ID")))
