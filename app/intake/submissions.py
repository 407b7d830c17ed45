"""One transaction per submission: its rows, its jobs and its idempotency key, or nothing."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from app.intake.admission import admit
from app.intake.refusals import Refused
from config.queues import Priority
from db.engine import reading
from db.ledger import KeyReused
from db.models import Job
from tasks.engine import JobHandle, JobType, UnitOfWork, unit_of_work
from tasks.engine.job import P

# Room for the submitter in the same column; visible ASCII, so that it can be a header and a log field.
_KEY = re.compile(r"[\x21-\x7e]{1,200}")


class CommitUnknown(Exception):
    """The database went away during the commit: the submission may have been accepted or not."""


@dataclass(frozen=True)
class Submission:
    """What was accepted. `repeated` says that an earlier request with the same key made it."""

    jobs: list[JobHandle]
    batch_id: str | None
    repeated: bool


def submit(
    enqueue: Callable[[UnitOfWork], list[JobHandle]],
    *,
    job: JobType[P],
    priority: Priority | None = None,
    created_by: str,
    key: str | None,
    content: Mapping[str, Any],
) -> Submission:
    """Commit what `enqueue` adds, then publish its jobs. `content` is what the key's fingerprint is made of.

    `job` and `priority` say what is added, for the door: a repeat of what was accepted before is answered however
    full its queue is. Raises Refused for a full queue, for a key that is no key or stands for other content, and
    CommitUnknown.
    """
    if key is not None and not _KEY.fullmatch(key):
        raise Refused(
            "idempotency_key_invalid",
            "An Idempotency-Key is 1 to 200 visible ASCII characters without spaces.",
            status=400,
            field="Idempotency-Key",
        )
    complete = False
    try:
        with unit_of_work(created_by=created_by) as work:
            earlier = None if key is None else work.earlier(key, fingerprint(content))
            handles = []
            if earlier is None:
                admit(job.queue, priority or job.default_priority)
                handles = enqueue(work)
            complete = True
    except KeyReused:
        raise Refused(
            "idempotency_key_reused",
            "This Idempotency-Key was used before for another request.",
            field="Idempotency-Key",
        ) from None
    except SQLAlchemyError as error:
        if complete:
            raise CommitUnknown from error
        raise
    if earlier is not None:
        return Submission(_jobs_of(earlier), earlier.batch_id, repeated=True)
    return Submission(handles, handles[0].batch_id, repeated=False)


def fingerprint(content: Mapping[str, Any]) -> str:
    """SHA-256 over the content in one fixed notation."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _jobs_of(first: JobHandle) -> list[JobHandle]:
    mine = Job.id == first.id if first.batch_id is None else Job.batch_id == first.batch_id
    with reading() as session:
        rows = session.execute(select(Job.id, Job.type).where(mine).order_by(Job.position)).all()
    return [JobHandle(id_, type_, first.batch_id) for id_, type_ in rows]
