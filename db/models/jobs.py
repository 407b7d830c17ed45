"""The ledger's tables. Only `db.ledger` changes a job's state."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import CheckConstraint, ForeignKey, Index, SmallInteger, String, Text, false, text
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, CreatedAt, Id, Json, Ref, Submitter


class State(StrEnum):
    """A job's state; the last three are final."""

    QUEUED = "queued"
    WAITING = "waiting"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    CANCELLED = "cancelled"


FINAL = (State.SUCCEEDED, State.DEAD, State.CANCELLED)
# Equal to being unfinished (see the check below), and the one form of it both databases can match to an index.
_UNFINISHED = text("due_at IS NOT NULL")
# The same for a batch's members, by the one column that no move but the last one touches.
_MEMBER = text("batch_id IS NOT NULL")
_UNFINISHED_MEMBER = text("finished_at IS NULL AND batch_id IS NOT NULL")
_AWAITED = text("completed_at IS NULL AND on_complete IS NOT NULL")


class Batch(Base):
    """Jobs that were submitted together. Progress is counted from its jobs, never kept beside them."""

    __tablename__ = "batches"

    id: Mapped[Id]
    kind: Mapped[str] = mapped_column(String(40))
    created_by: Mapped[Submitter]
    created_at: Mapped[CreatedAt]
    total: Mapped[int]
    # The job to be enqueued when all of its jobs are final, as columns of `jobs`; NULL when nobody waits for that.
    on_complete: Mapped[Json | None]
    # When that was done. A batch that nobody waits for never gets one.
    completed_at: Mapped[datetime | None]

    __table_args__ = (
        # What the relay asks at every look: the batches that somebody waits for.
        Index("ix_batches_awaited", "id", sqlite_where=_AWAITED, postgresql_where=_AWAITED),
    )


class Job(Base):
    """One job. `due_at` is when it must be published (again) if nothing has happened by then."""

    __tablename__ = "jobs"

    id: Mapped[Id]
    type: Mapped[str] = mapped_column(String(80))
    queue: Mapped[str] = mapped_column(String(40))
    priority: Mapped[str] = mapped_column(String(6), default="normal")
    payload: Mapped[Json]
    payload_version: Mapped[int] = mapped_column(SmallInteger)
    state: Mapped[str] = mapped_column(String(9), default=State.QUEUED)
    # Queued: publish (again) then. Waiting: parked until then. Running: the lease ends then.
    due_at: Mapped[datetime | None]
    # When the broker took the message; NULL while only this row knows of the job.
    published_at: Mapped[datetime | None]
    # Who runs it: the worker's parent process, and the token of this one start.
    worker: Mapped[str | None] = mapped_column(String(120))
    lease_token: Mapped[str | None] = mapped_column(String(32))
    # Starts; failures that count against max_retries; starts whose end nobody could explain.
    attempts: Mapped[int] = mapped_column(SmallInteger, default=0)
    failures: Mapped[int] = mapped_column(SmallInteger, default=0)
    losses: Mapped[int] = mapped_column(SmallInteger, default=0)
    # Started together with others: if the worker dies now, nobody can tell which of them is at fault. Still set on a
    # queued job, that has happened; it travels alone then.
    suspect: Mapped[bool] = mapped_column(server_default=false())
    progress: Mapped[int | None] = mapped_column(SmallInteger)
    cancel_requested_at: Mapped[datetime | None]
    result: Mapped[Json | None]
    error_code: Mapped[str | None] = mapped_column(String(80))
    error_message: Mapped[str | None] = mapped_column(Text)
    batch_id: Mapped[Ref | None] = mapped_column(ForeignKey("batches.id"))
    position: Mapped[int | None]
    created_by: Mapped[Submitter]
    created_at: Mapped[CreatedAt]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]

    __table_args__ = (
        CheckConstraint(
            "state IN ('queued','waiting','running','succeeded','dead','cancelled')", name="state"
        ),
        CheckConstraint("priority IN ('high','normal','low')", name="priority"),
        CheckConstraint(
            "(due_at IS NULL) = (state IN ('succeeded','dead','cancelled'))", name="unfinished_has_due_at"
        ),
        CheckConstraint("(lease_token IS NULL) = (state <> 'running')", name="running_has_lease"),
        # What the relay asks, several times a second, over a table of millions.
        Index("ix_jobs_due", "due_at", sqlite_where=_UNFINISHED, postgresql_where=_UNFINISHED),
        Index(
            "ix_jobs_unfinished",
            "queue",
            "state",
            "published_at",
            sqlite_where=_UNFINISHED,
            postgresql_where=_UNFINISHED,
        ),
        # Most jobs are in no batch, and each index that PostgreSQL keeps for a row costs at each of its moves.
        Index("ix_jobs_batch", "batch_id", "position", sqlite_where=_MEMBER, postgresql_where=_MEMBER),
        Index(
            "ix_jobs_batch_unfinished",
            "batch_id",
            sqlite_where=_UNFINISHED_MEMBER,
            postgresql_where=_UNFINISHED_MEMBER,
        ),
        Index("ix_jobs_created_by", "created_by", "id"),
        # What people ask for most, and what no successful job ever touches: the hot path pays for each index it moves.
        Index(
            "ix_jobs_unsuccessful",
            "state",
            "id",
            sqlite_where=text("error_code IS NOT NULL"),
            postgresql_where=text("error_code IS NOT NULL"),
        ),
        Index("ix_jobs_type", "type", "id"),
    )


class Attempt(Base):
    """One start of a job that did not end in success, and why."""

    __tablename__ = "attempts"

    id: Mapped[Id]
    job_id: Mapped[Ref] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    number: Mapped[int] = mapped_column(SmallInteger)
    worker: Mapped[str | None] = mapped_column(String(120))
    outcome: Mapped[str] = mapped_column(String(20))
    error_code: Mapped[str] = mapped_column(String(80))
    error_message: Mapped[str] = mapped_column(Text)
    traceback: Mapped[str | None] = mapped_column(Text)
    started_at: Mapped[datetime | None]
    ended_at: Mapped[CreatedAt]


class IdempotencyKey(Base):
    """One thing that must happen at most once. The primary key decides every race."""

    __tablename__ = "idempotency_keys"

    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    job_id: Mapped[Ref | None] = mapped_column(index=True)
    state: Mapped[str] = mapped_column(String(8))
    # Of the start that began this effect, which may repeat a commit whose answer was lost; no other start may.
    lease_token: Mapped[str | None] = mapped_column(String(32))
    # What the caller sent, so that the same key with another body can be refused.
    fingerprint: Mapped[str | None] = mapped_column(String(64))
    receipt: Mapped[Json | None]
    created_at: Mapped[CreatedAt]
    expires_at: Mapped[datetime | None] = mapped_column(index=True)

    __table_args__ = (CheckConstraint("state IN ('reserved','started','done','unknown')", name="state"),)


class DeadLetter(Base):
    """A job, or a message nobody could read, that waits for a person. Open until `resolution` is set."""

    __tablename__ = "dead_letters"

    id: Mapped[Id]
    job_id: Mapped[Ref | None] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    type: Mapped[str] = mapped_column(String(80))
    queue: Mapped[str] = mapped_column(String(40))
    owner: Mapped[str] = mapped_column(String(80))
    # Why it is here (permanent, retries_exhausted, bug, worker_lost, outcome_unknown, undecodable…).
    reason: Mapped[str] = mapped_column(String(40))
    error_code: Mapped[str] = mapped_column(String(80))
    error_message: Mapped[str] = mapped_column(Text)
    # Equal for failures of one kind, so that an outage is one alert and a count.
    fingerprint: Mapped[str] = mapped_column(String(16), index=True)
    traceback: Mapped[str | None] = mapped_column(Text)
    # The beginning of a foreign message, escaped; NULL for a job, whose payload is in its row.
    shown: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[CreatedAt]
    resolution: Mapped[str | None] = mapped_column(String(20))
    resolved_at: Mapped[datetime | None]
    resolved_by: Mapped[str | None] = mapped_column(String(80))
    note: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (
        Index("ix_dead_letters_open", "resolution", "id"),
        CheckConstraint(
            "resolution IS NULL OR resolution IN ('replayed','discarded','happened','superseded')",
            name="resolution",
        ),
    )
