"""A batch's page, and what keeps it live."""

import json
from typing import Any

from flask import redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from app import operators
from app.pages.blueprint import pages
from app.pages.words import batch_title, member_names, standing
from app.reading.batches import find_batch
from app.reading.events import batch_events as events_of
from app.reading.events import event_stream
from app.security import page_viewer


@pages.get("/batches/<batch_id>")
def batch(batch_id: str) -> str:
    """The batch as it is now; `live.js` takes the fresh parts from here too."""
    found = find_batch(batch_id, page_viewer())
    return render_template(
        "batch.html",
        batch=found,
        title=batch_title(found),
        names=member_names(found),
        standing=standing(found),
        signature=json.dumps(found.counts, separators=(",", ":")),
    )


@pages.get("/batches/<batch_id>.json")
def batch_json(batch_id: str) -> dict[str, Any]:
    """For clients that get no events."""
    return find_batch(batch_id, page_viewer()).as_json(root="")


@pages.get("/batches/<batch_id>/events")
def batch_events(batch_id: str) -> Response:
    """Server-sent events until every job is final."""
    return event_stream(events_of(batch_id, page_viewer(), request.headers.get("Last-Event-ID"), root=""))


@pages.post("/batches/<batch_id>/cancel")
def cancel_batch(batch_id: str) -> Response:
    """Cancel what is unfinished of it, and show what became of that."""
    visitor = page_viewer()
    found = find_batch(batch_id, visitor)
    operators.cancel_batch(found.id, actor=visitor.identity)
    return redirect(url_for("pages.batch", batch_id=found.id), 303)
