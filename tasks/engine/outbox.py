"""One transaction for what a request stores and the jobs it asks for; messages go out after its commit."""

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

import structlog
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from config.queues import Priority, Queue
from db import ledger
from db.engine import autocommit, get_engine
from db.models import Base
from tasks.engine.job import JobType, P
from tasks.engine.pauses import paused_queues
from tasks.engine.payload import Payload
from tasks.engine.publisher import BrokerUnavailable, publisher
from tasks.engine.wake import ring

log = structlog.get_logger()

Row = TypeVar("Row", bound=Base)
Q = TypeVar("Q", bound=Payload)

# Beyond this many the relay publishes, so that a request does not spend its half second on messages.
_PUBLISH_AT_ONCE = 200


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
    ) -> JobHandle:
        """Put one job into the ledger. `run_at` (with a time zone) parks it until then; `queue` overrides its own."""
        new = _new_job(job, payload, self.created_by, priority, run_at=run_at, queue=queue)
        return self._insert([new])[0]

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

    def _insert(self, new: list[ledger.NewJob]) -> list[JobHandle]:
        connection = self.session.connection()
        grace = timedelta() if len(new) > _PUBLISH_AT_ONCE else ledger.PUBLISH_GRACE
        ids = ledger.enqueue(connection, new, grace=grace)
        if self._unbound_key is not None:
            ledger.bind(connection, self._unbound_key, ids[0])
            self._unbound_key = None
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


def publish_committed(jobs: Sequence[ledger.Due]) -> None:
    """Send the messages of jobs whose rows are committed; leave what fails, or is too much, to the relay."""
    # The jobs are accepted: a database that just went away must not turn that into an error. Without its word on
    # pauses a message is sent that a worker will put back, and an unmarked job is only published once more.
    resting: Container[str] = ()
    with suppress(OperationalError, PoolTimeout):
        resting = paused_queues()
    jobs = [job for job in jobs if job.queue not in resting]
    if not jobs:
        return
    if len(jobs) > _PUBLISH_AT_ONCE:
        ring()
        return
    try:
        publisher().publish(jobs)
    except BrokerUnavailable as error:
        log.warning("outbox.left_to_relay", jobs=len(jobs), reason=str(error))
        return
    with suppress(OperationalError, PoolTimeout), autocommit(durable=False) as connection:
        ledger.mark_published(connection, [job.id for job in jobs])


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
