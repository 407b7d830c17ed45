"""Batches as they are shown: progress is counted from the jobs each time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.reading.jobs import API, JobView, iso, job_views
from app.reading.visible import visible
from app.security import Viewer
from db.engine import reading
from db.models import Batch, Job
from db.models.jobs import FINAL, State

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
            "total": self.total,
            "counts": self.counts,
            "progress": self.progress,
            "done": self.done,
            "links": {"self": own, "events": f"{own}/events"},
        }


def find_batch(batch_id: str, viewer: Viewer) -> BatchView:
    """The batch with its first jobs. Raises NotFound for an unknown, malformed or somebody else's id."""
    with reading() as session:
        row = visible(session, Batch, batch_id, viewer)
        members = select(Job).where(Job.batch_id == row.id).order_by(Job.position).limit(SHOWN_JOBS)
        return batch_view(session, row, job_views(session, session.scalars(members).all()))


def batch_view(session: Session, row: Batch, jobs: list[JobView]) -> BatchView:
    """The row with its counts as they are now."""
    return BatchView(row.id, row.kind, row.created_at, row.total, batch_counts(session, row.id), jobs)


def batch_counts(session: Session, batch_id: str) -> dict[str, int]:
    """How many of its jobs are in each state; every state is there."""
    by_state = select(Job.state, func.count()).where(Job.batch_id == batch_id).group_by(Job.state)
    found: dict[str, int] = dict(session.execute(by_state).all())
    return {state.value: found.get(state, 0) for state in State}
