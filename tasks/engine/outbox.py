"""One transaction for what a request stores and the jobs it asks for; messages go out after its commit."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy.orm import Session

from config.queues import Priority, Queue
from config.settings import get_settings
from db import ledger
from db.engine import get_engine
from db.models import Base
from tasks.engine.job import JobType, P
from tasks.engine.payload import Payload
from tasks.engine.sending import PUBLISH_AT_ONCE, publish_committed

Row = TypeVar("Row", bound=Base)
Q = TypeVar("Q", bound=Payload)

# The type and a prefix are in the same column.
LONGEST_UNIQUE_KEY = 160


@dataclass(frozen=True)
class JobHandle:
    """A job that has been accepted."""

    id: str
    type: str
    batch_id: str | None = None


class UnitOfWork:
    """Rows and jobs that are committed together or not at all."""

    def __init__(self, session: Session, *, created_by: str) -> None:
        self.session = session
        self.created_by = created_by
        self.outgoing: list[ledger.Due] = []
        self._unbound_key: str | None = None

    def add(self, row: Row) -> Row:
        """Insert the row now, so that its id is known, and commit it with the rest."""
        self.session.add(row)
        self.session.flush()
        return row

    def earlier(self, key: str, fingerprint: str) -> JobHandle | None:
        """The first job that this idempotency key made, or None when the key is new and now ours.

        `fingerprint` stands for the content of the request. Raises ledger.KeyReused for other content.
        """
        scoped = f"{self.created_by}:{key}"
        found = ledger.reserve(self.session.connection(), scoped, fingerprint=fingerprint)
        if found is None:
            self._unbound_key = scoped
            return None
        return JobHandle(found.job_id, "", found.batch_id)

    def enqueue(
        self,
        job: JobType[P],
        payload: P,
        *,
        priority: Priority | str | None = None,
        run_at: datetime | None = None,
        queue: Queue | None = None,
        unique_key: str | None = None,
        unique_for: timedelta = timedelta(),
        replace: bool = False,
    ) -> JobHandle:
        """Put one job into the ledger. `run_at` (with a time zone) parks it until then; `queue` overrides its own.

        `unique_key` names a business matter, and no person: while a job of this type with this key is unfinished,
        and for `unique_for` after it succeeded, that job's handle is returned. With `replace` a job that has not
        started gets this payload and time instead; one that runs is left, and another one is queued.
        """
        new = _new_job(job, payload, self.created_by, priority, run_at=run_at, queue=queue)
        if unique_key is None:
            return self._insert([new])[0]
        return self._insert_unique(new, unique_key, kept=unique_for, replace=replace)

    def enqueue_batch(
        self,
        kind: str,
        members: Sequence[tuple[JobType[P], P]],
        *,
        first_goes_first: bool = False,
        on_complete: tuple[JobType[Q], Callable[[str], Q]] | None = None,
    ) -> list[JobHandle]:
        """Put jobs into the ledger as one batch, in order; with `first_goes_first` the first has high priority.

        `on_complete` is a job, and what makes its payload from the batch's id. It is enqueued once, when all
        members are final, whatever became of each.
        """
        connection = self.session.connection()
        batch_id = ledger.open_batch(connection, kind=kind, total=len(members), created_by=self.created_by)
        if on_complete is not None:
            then, payload_for = on_complete
            ledger.await_batch(
                connection, batch_id, _new_job(then, payload_for(batch_id), self.created_by, None)
            )
        return self._insert(
            [
                _new_job(
                    job,
                    payload,
                    self.created_by,
                    Priority.HIGH if first_goes_first and position == 0 else None,
                    batch_id=batch_id,
                    position=position,
                )
                for position, (job, payload) in enumerate(members)
            ]
        )

    def _insert_unique(
        self, new: ledger.NewJob, unique_key: str, *, kept: timedelta, replace: bool
    ) -> JobHandle:
        if len(unique_key) > LONGEST_UNIQUE_KEY:
            raise ValueError(f"a unique key has at most {LONGEST_UNIQUE_KEY} characters")
        if kept and (replace or kept >= timedelta(days=get_settings().retention_days)):
            raise ValueError("unique_for must be below RETENTION_DAYS, and means nothing with replace")
        connection, key = self.session.connection(), f"unique:{new.type}:{unique_key}"
        standing = (
            ledger.replace_unique(connection, key, new)
            if replace
            else ledger.take_unique(connection, key, kept=kept)
        )
        if standing is None:
            handle = self._insert([new])[0]
            ledger.bind(connection, key, handle.id)
            return handle
        self._bind_door(standing.job_id)
        self.outgoing += [standing.due] if standing.due else []
        return JobHandle(standing.job_id, new.type, standing.batch_id)

    def _bind_door(self, job_id: str) -> None:
        if self._unbound_key is not None:
            ledger.bind(self.session.connection(), self._unbound_key, job_id)
            self._unbound_key = None

    def _insert(self, new: list[ledger.NewJob]) -> list[JobHandle]:
        grace = timedelta() if len(new) > PUBLISH_AT_ONCE else ledger.PUBLISH_GRACE
        ids = ledger.enqueue(self.session.connection(), new, grace=grace)
        self._bind_door(ids[0])
        self.outgoing += [
            ledger.Due(id_, job.type, job.queue, job.priority)
            for id_, job in zip(ids, new, strict=True)
            if job.run_at is None
        ]
        return [JobHandle(id_, job.type, job.batch_id) for id_, job in zip(ids, new, strict=True)]


@contextmanager
def unit_of_work(*, created_by: str = "system") -> Iterator[UnitOfWork]:
    """Commit at the end, then publish. `created_by` (`token:…`, `session:…`) is who may see the jobs.

    A broker that is down delays the jobs and fails nobody: the relay publishes what is overdue.
    """
    with Session(get_engine(), expire_on_commit=False) as session:
        work = UnitOfWork(session, created_by=created_by)
        with session.begin():
            yield work
    publish_committed(work.outgoing)


def _new_job(
    job: JobType[P],
    payload: P,
    created_by: str,
    priority: Priority | str | None,
    *,
    run_at: datetime | None = None,
    queue: Queue | None = None,
    batch_id: str | None = None,
    position: int | None = None,
) -> ledger.NewJob:
    if not isinstance(payload, job.payload):
        raise TypeError(f"{job.name} takes {job.payload.__name__}, not {type(payload).__name__}")
    return ledger.NewJob(
        type=job.name,
        queue=queue or job.queue,
        payload=payload.dump(),
        payload_version=payload.version,
        created_by=created_by,
        priority=Priority(priority or job.default_priority),
        run_at=run_at,
        batch_id=batch_id,
        position=position,
    )
