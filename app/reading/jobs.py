"""Jobs as they are shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from app.reading.results import file_urls, shown
from app.reading.visible import is_id, visible
from app.security import Viewer
from config.queues import Queue
from db.engine import reading
from db.models import Batch, Job, StoredFile
from db.models.jobs import FINAL, State
from tasks.canary import sing
from tasks.engine.job import JOBS

API = "/api/v1"
_UNFINISHED = (State.QUEUED, State.WAITING, State.RUNNING)


@dataclass(frozen=True)
class JobView:
    """One job. Times are in UTC; `progress` is 0..100 or None; `source_name` is the uploaded file's name,
    `batch_kind` its batch's."""

    id: str
    type: str
    queue: str
    state: str
    priority: str
    progress: int | None
    attempts: int
    max_attempts: int | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    due_at: datetime | None
    result: dict[str, Any] | None
    error_code: str | None
    error_message: str | None
    batch_id: str | None
    batch_kind: str | None
    position: int | None
    cancel_requested: bool
    source_name: str | None

    @property
    def title(self) -> str:
        """The type for people: `images.resize_image` is "Resize image"."""
        return self.type.rpartition(".")[2].replace("_", " ").capitalize()

    @property
    def final(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in FINAL

    @property
    def can_cancel(self) -> bool:
        """Whether it would still make a difference."""
        return not self.final and not self.cancel_requested

    def links(self, root: str = API) -> dict[str, Any]:
        """Addresses below `root`: the API's, or "" for the pages'."""
        own = f"{root}/jobs/{self.id}"
        links: dict[str, Any] = {"self": own, "events": f"{own}/events"}
        if self.can_cancel:
            links["cancel"] = f"{own}/cancel"
        if self.batch_id:
            links["batch"] = f"{root}/batches/{self.batch_id}"
        if files := file_urls(self.result):
            links["files"] = files
        return links

    def as_json(self, root: str = API) -> dict[str, Any]:
        """The job as the API answers it."""
        return {
            "id": self.id,
            "type": self.type,
            "queue": self.queue,
            "state": self.state,
            "priority": self.priority,
            "progress": self.progress,
            "attempts": self.attempts,
            "created_at": iso(self.created_at),
            "started_at": iso(self.started_at),
            "finished_at": iso(self.finished_at),
            "due_at": iso(self.due_at),
            "result": self.result,
            "error": {"code": self.error_code, "message": self.error_message} if self.error_code else None,
            "links": self.links(root),
        }


def find_job(job_id: str, viewer: Viewer) -> JobView:
    """The job. Raises NotFound for an unknown, malformed or somebody else's id."""
    with reading() as session:
        return job_views(session, [visible(session, Job, job_id, viewer)])[0]


def recent_jobs(viewer: Viewer, *, limit: int = 50, before: str | None = None) -> list[JobView]:
    """The viewer's own jobs, newest first; `before` is the last id of the page before. Raises NotFound for a bad one."""
    with reading() as session:
        query = select(Job).where(Job.created_by == viewer.identity).order_by(Job.id.desc()).limit(limit)
        if before is not None:
            query = query.where(Job.id < visible(session, Job, before, viewer).id)
        return job_views(session, session.scalars(query).all())


def all_jobs(
    *,
    state: str | None = None,
    type_: str | None = None,
    queue: str | None = None,
    batch_id: str | None = None,
    limit: int = 50,
    before: str | None = None,
) -> list[JobView]:
    """Everybody's jobs, newest first, for operators; `before` is the last id of the page before.

    Canaries go through every queue each minute, so they are listed only where `type_` names them.
    """
    query = select(Job).order_by(Job.id.desc()).limit(limit).where(*_indexed(state, type_, queue))
    if batch_id is not None:
        query = query.where(Job.batch_id == batch_id)
    if before is not None and is_id(before):
        query = query.where(Job.id < before)
    with reading() as session:
        return job_views(session, session.scalars(query).all())


def _indexed(state: str | None, type_: str | None, queue: str | None) -> list[ColumnElement[bool]]:
    """The filters, with what each index must hear to be used: over a million rows the wrong one takes seconds.

    By queue, or by success, without a type the newest rows are walked until the page is full. Where such jobs are rare
    that is the whole table, half a second for a million rows: less than an index would cost each submission.
    """
    wanted = [
        column == value for column, value in ((Job.state, state), (Job.queue, queue)) if value is not None
    ]
    if type_ is None:
        wanted.append(Job.type != sing.name)
    if state in _UNFINISHED:
        # Few among all, whatever their type: ix_jobs_unfinished, which begins with the queue.
        wanted += [Job.due_at.is_not(None), Job.queue.in_([queue] if queue else list(Queue))]
        return wanted if type_ is None else [*wanted, func.coalesce(Job.type, "") == type_]
    if state in (State.DEAD, State.CANCELLED):
        wanted.append(Job.error_code.is_not(None))
    if type_ is not None:
        wanted.append(Job.type == type_)
    return wanted


def job_views(session: Session, rows: Sequence[Job]) -> list[JobView]:
    """The rows as they are shown, in order; one more query names their files, and one the kinds of their batches."""
    sources = [str(row.payload.get("file_id", "")) for row in rows]
    names: dict[str, str] = {}
    if wanted := {source for source in sources if is_id(source)}:
        named = select(StoredFile.id, StoredFile.name).where(StoredFile.id.in_(wanted))
        names = {file.id: file.name for file in session.execute(named)}
    kinds: dict[str, str] = {}
    if batches := {row.batch_id for row in rows if row.batch_id}:
        kinds = {
            batch.id: batch.kind
            for batch in session.execute(select(Batch.id, Batch.kind).where(Batch.id.in_(batches)))
        }
    return [
        _view(row, names.get(source), kinds.get(row.batch_id or ""))
        for row, source in zip(rows, sources, strict=True)
    ]


def iso(moment: datetime | None) -> str | None:
    """ISO 8601 with its offset, to the millisecond."""
    return moment.isoformat(timespec="milliseconds") if moment else None


def _view(row: Job, source_name: str | None, batch_kind: str | None) -> JobView:
    declared = JOBS.get(row.type)
    return JobView(
        id=row.id,
        type=row.type,
        queue=row.queue,
        state=row.state,
        priority=row.priority,
        progress=row.progress,
        attempts=row.attempts,
        max_attempts=declared.retry_policy.max_retries + 1 if declared else None,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        due_at=row.due_at,
        result=shown(row.result),
        error_code=row.error_code,
        error_message=row.error_message,
        batch_id=row.batch_id,
        batch_kind=batch_kind,
        position=row.position,
        cancel_requested=row.cancel_requested_at is not None,
        source_name=source_name,
    )
