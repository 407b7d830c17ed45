"""`/console/jobs`: everybody's jobs, and one job with all that is known of it."""

from dataclasses import dataclass

from flask import redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import select

from app.console.blueprint import console, operator
from app.reading.jobs import JobView, all_jobs, find_job
from app.reading.visible import NotFound, is_id
from config.queues import Queue
from db.engine import reading
from db.models import Attempt, DeadLetter, IdempotencyKey, Job
from db.models.jobs import State
from tasks.canary import sing
from tasks.engine.job import JOBS

_PER_PAGE = 50


@dataclass(frozen=True)
class JobRecord:
    """One job's row as it is shown, the row itself, and the rows that belong to it."""

    view: JobView
    row: Job
    attempts: list[Attempt]
    letters: list[DeadLetter]
    keys: list[IdempotencyKey]


@console.get("/jobs")
def job_list() -> ResponseReturnValue:
    """Newest first, 50 to a page; `before` is the last id of the page before, `id` goes to that job."""
    wanted = request.args.get("id", "").strip()
    if is_id(wanted):
        return redirect(url_for("console.job", job_id=wanted))
    before = request.args.get("before") or None
    filters = _filters()
    found = all_jobs(
        state=filters["state"],
        type_=filters["type"],
        queue=filters["queue"],
        batch_id=filters["batch"],
        limit=_PER_PAGE + 1,
        before=before,
    )
    jobs = found[:_PER_PAGE]
    return render_template(
        "console/jobs.html",
        jobs=jobs,
        filters={name: value for name, value in filters.items() if value},
        unknown_id=wanted,
        canary=sing.name,
        states=list(State),
        queues=list(Queue),
        types=sorted(JOBS),
        before=before,
        older=jobs[-1].id if len(found) > _PER_PAGE else None,
    )


@console.get("/jobs/<job_id>")
def job(job_id: str) -> str:
    """The job with its attempts, dead letters and keys."""
    record = job_record(job_id)
    return render_template("console/job.html", record=record, job=record.view)


def job_record(job_id: str) -> JobRecord:
    """Raises NotFound."""
    view = find_job(job_id, operator())
    with reading() as session:
        row = session.get(Job, job_id)
        if row is None:
            # Housekeeping was faster.
            raise NotFound
        return JobRecord(
            view,
            row,
            list(session.scalars(select(Attempt).where(Attempt.job_id == job_id).order_by(Attempt.id))),
            list(
                session.scalars(select(DeadLetter).where(DeadLetter.job_id == job_id).order_by(DeadLetter.id))
            ),
            list(
                session.scalars(
                    select(IdempotencyKey)
                    .where(IdempotencyKey.job_id == job_id)
                    .order_by(IdempotencyKey.created_at)
                )
            ),
        )


def _filters() -> dict[str, str | None]:
    """Only what there is; anything else in the address is left aside."""
    known: dict[str, set[str]] = {"state": set(State), "queue": set(Queue), "type": set(JOBS)}
    given = {name: request.args.get(name, "") for name in known}
    batch = request.args.get("batch", "")
    return {
        **{name: value if value in known[name] else None for name, value in given.items()},
        "batch": batch if is_id(batch) else None,
    }
