"""Batches as they are shown: progress is counted from the jobs each time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.reading.jobs import API, JobView, iso, job_views
from app.reading.visible import visible
from app.security import Viewer
from db import ledger
from db.engine import reading
from db.models import Batch, Job
from db.models.jobs import FINAL

# A newsletter has tens of thousands of jobs; nobody looks at them one by one.
SHOWN_JOBS = 200


@dataclass(frozen=True)
class BatchView:
    """One batch. `counts` has every state, `progress` is the finished share in percent, rounded down.

    `jobs` are its first 200, in their order.
    """

    id: str
    kind: str
    created_at: datetime
    completed_at: datetime | None
    total: int
    counts: dict[str, int]
    jobs: list[JobView]

    @property
    def finished(self) -> int:
        """How many jobs are in a final state."""
        return sum(self.counts[state] for state in FINAL)

    @property
    def progress(self) -> int:
        """Finished jobs in percent."""
        return 100 * self.finished // self.total

    @property
    def done(self) -> bool:
        """Whether nothing will change any more."""
        return self.finished >= self.total

    def as_json(self, root: str = API) -> dict[str, Any]:
        """The batch as the API answers it, without its jobs."""
        own = f"{root}/batches/{self.id}"
        return {
            "id": self.id,
            "kind": self.kind,
            "created_at": iso(self.created_at),
            "completed_at": iso(self.completed_at),
            "total": self.total,
            "counts": self.counts,
            "progress": self.progress,
            "done": self.done,
            "links": {
                "self": own,
                "events": f"{own}/events",
                **({} if self.done else {"cancel": f"{own}/cancel"}),
            },
        }


def find_batch(batch_id: str, viewer: Viewer) -> BatchView:
    """The batch with its first jobs. Raises NotFound for an unknown, malformed or somebody else's id."""
    with reading() as session:
        row = visible(session, Batch, batch_id, viewer)
        members = select(Job).where(Job.batch_id == row.id).order_by(Job.position).limit(SHOWN_JOBS)
        return batch_view(session, row, job_views(session, session.scalars(members).all()))


def batch_view(session: Session, row: Batch, jobs: list[JobView]) -> BatchView:
    """The row with its counts as they are now."""
    counts = batch_counts(session, row.id)
    done = sum(counts[state] for state in FINAL) >= row.total
    completed_at = row.completed_at or (_last_end(session, row.id) if done else None)
    return BatchView(row.id, row.kind, row.created_at, completed_at, row.total, counts, jobs)


def batch_counts(session: Session, batch_id: str) -> dict[str, int]:
    """How many of its jobs are in each state; every state is there."""
    return ledger.tally(session.connection(), batch_id)


def _last_end(session: Session, batch_id: str) -> datetime | None:
    """Only a batch that something comes after has its completion in its row."""
    return session.scalar(select(func.max(Job.finished_at)).where(Job.batch_id == batch_id))
