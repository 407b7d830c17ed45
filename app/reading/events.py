"""Live progress as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

The `id` of an event names what it said. A client that comes back with it hears only what has changed since,
from whichever process answers; nothing has to be remembered here.
"""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from flask import Response
from sqlalchemy import ColumnElement, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.reading.batches import SHOWN_JOBS, batch_counts, batch_view
from app.reading.jobs import API, job_views
from app.reading.visible import visible
from app.security import Viewer
from db.engine import reading
from db.models import Batch, Job
from db.models.jobs import FINAL

_POLL_S = 0.5
_HEARTBEAT_S = 15.0
# Half of gunicorn's threads per process: open pages must leave room for requests.
MAX_STREAMS = 16

_free = threading.BoundedSemaphore(MAX_STREAMS)

# What is looked at twice a second: a version per job, and the counts under the batch's own id.
Versions = dict[str, str]


class TooManyStreams(Exception):
    """Every place for a live stream is taken; clients fall back to asking again after a while."""


def job_events(job_id: str, viewer: Viewer, last_event_id: str | None, *, root: str = API) -> Iterator[str]:
    """`event: job` with the job's JSON after every change, until it is final. Raises NotFound at once."""
    with reading() as session:
        visible(session, Job, job_id, viewer)

    def look(session: Session) -> tuple[Versions, bool]:
        versions, states = _versions(session, Job.id == job_id)
        return versions, states <= set(FINAL)

    return _follow(look, lambda session, ids: _job_events(session, ids, root), last_event_id)


def batch_events(
    batch_id: str, viewer: Viewer, last_event_id: str | None, *, root: str = API
) -> Iterator[str]:
    """`event: job` for each changed job among the first 200, `event: batch` for changed counts, until all are final.

    After a gap in which something changed, everything is told anew. Raises NotFound at once.
    """
    with reading() as session:
        total = visible(session, Batch, batch_id, viewer).total

    def look(session: Session) -> tuple[Versions, bool]:
        versions, _ = _versions(session, Job.batch_id == batch_id)
        counts = batch_counts(session, batch_id)
        finished = sum(counts[state] for state in FINAL)
        return versions | {batch_id: repr(counts)}, finished >= total

    def tell(session: Session, ids: list[str]) -> list[str]:
        events = _job_events(session, [id_ for id_ in ids if id_ != batch_id], root)
        if batch_id in ids:
            row = session.get_one(Batch, batch_id)
            events.append(_event("batch", batch_view(session, row, []).as_json(root)))
        return events

    return _follow(look, tell, last_event_id)


def event_stream(events: Iterator[str]) -> Response:
    """The response that sends the events. Raises TooManyStreams."""
    if not _free.acquire(blocking=False):
        raise TooManyStreams
    response = Response(events, mimetype="text/event-stream")
    response.headers["Cache-Control"] = "no-store"
    # nginx would collect events until its buffer is full.
    response.headers["X-Accel-Buffering"] = "no"
    response.call_on_close(_free.release)
    return response


def _follow(
    look: Callable[[Session], tuple[Versions, bool]],
    tell: Callable[[Session, list[str]], list[str]],
    last_event_id: str | None,
) -> Iterator[str]:
    told: Versions = {}
    # A stream that has nothing to tell yet begins with a heartbeat: its headers go out with the first line.
    quiet_since = float("-inf")
    while True:
        try:
            with reading() as session:
                seen, final = look(session)
                if not told and _revision(seen) == last_event_id:
                    told = seen
                changed = [id_ for id_, version in seen.items() if told.get(id_) != version]
                events = tell(session, changed) if changed else []
        except DBAPIError:
            # The client comes back by itself and is then answered as any request without a database is.
            return
        if events:
            # Only the last event of a round carries the id: a connection cut in between is told the round again.
            yield "\n".join(events) + f"id: {_revision(seen)}\n\n"
            told, quiet_since = seen, time.monotonic()
        elif not final and time.monotonic() - quiet_since > _HEARTBEAT_S:
            yield ": still here\n\n"
            quiet_since = time.monotonic()
        if final:
            return
        time.sleep(_POLL_S)


def _versions(session: Session, which: ColumnElement[bool]) -> tuple[Versions, set[str]]:
    columns = (Job.state, Job.progress, Job.attempts, Job.due_at, Job.cancel_requested_at)
    rows = session.execute(
        select(Job.id, *columns).where(which).order_by(Job.position).limit(SHOWN_JOBS)
    ).all()
    return {row.id: repr(tuple(row)) for row in rows}, {row.state for row in rows}


def _revision(versions: Versions) -> str:
    return hashlib.sha256(json.dumps(versions, sort_keys=True).encode()).hexdigest()[:24]


def _job_events(session: Session, ids: list[str], root: str) -> list[str]:
    rows = session.scalars(select(Job).where(Job.id.in_(ids)).order_by(Job.position)).all()
    return [_event("job", view.as_json(root)) for view in job_views(session, rows)]


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n"
