"""What is known after the run: the ledger's rows, what the clients were told, and the records outside the system."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from chaos.plan import Item, number_of
from db.models import Attempt, DeadLetter, EmailDelivery, IdempotencyKey, Job, StoredFile
from db.models.jobs import FINAL


@dataclass(frozen=True)
class JobFact:
    """One job's row and what belongs to it. `number` is the item that it does; None: nobody asked for it.

    `endings` are its unsuccessful starts, as (number of the start, outcome, error code); `letters` the reasons of
    its dead letters; `effects` the states of its guards.
    """

    id: str
    type: str
    state: str
    number: int | None = None
    attempts: int = 1
    error_code: str | None = None
    endings: tuple[tuple[int, str, str], ...] = ()
    letters: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    delivery_id: str | None = None

    @property
    def lost_starts(self) -> int:
        """Starts whose worker was lost."""
        return sum(outcome == "lost" for _, outcome, _ in self.endings)


@dataclass(frozen=True)
class Evidence:
    """Everything the account is made of."""

    items: Sequence[Item]
    jobs: Sequence[JobFact]
    # The jobs that answers named, by item.
    accepted: Mapping[int, Sequence[str]]
    # The job that the key's row names, by item.
    keys: Mapping[int, str | None]
    # (Message-ID, recipient) as the mail server took them; (item, job) as deeds were done.
    mails: Sequence[tuple[str, str]] = ()
    deeds: Sequence[tuple[int, str]] = ()
    # Dead letters of messages that were no job's; programs that ended by themselves; answers nobody should get.
    strangers: int = 0
    complaints: Sequence[str] = field(default_factory=tuple)


def unfinished(engine: Engine) -> int:
    """How many jobs are not in a final state."""
    with Session(engine) as session:
        return session.scalar(select(func.count()).select_from(Job).where(Job.state.not_in(FINAL))) or 0


def read_jobs(engine: Engine) -> list[JobFact]:
    """Every job of the ledger."""
    with Session(engine) as session:
        numbers = _Numbers(session)
        endings, letters, effects = defaultdict(list), defaultdict(list), defaultdict(list)
        for attempt in session.scalars(select(Attempt).order_by(Attempt.id)):
            endings[attempt.job_id].append((attempt.number, attempt.outcome, attempt.error_code))
        for letter in session.scalars(select(DeadLetter)):
            letters[letter.job_id].append(letter.reason)
        for key in session.scalars(select(IdempotencyKey).where(IdempotencyKey.state != "reserved")):
            effects[key.job_id].append(key.state)
        return [
            JobFact(
                id=job.id,
                type=job.type,
                state=job.state,
                number=numbers.of(job.payload),
                attempts=job.attempts,
                error_code=job.error_code,
                endings=tuple(endings[job.id]),
                letters=tuple(letters[job.id]),
                effects=tuple(effects[job.id]),
                delivery_id=job.payload.get("delivery_id"),
            )
            for job in session.scalars(select(Job).order_by(Job.id))
        ]


def read_keys(engine: Engine) -> dict[int, str | None]:
    """The job that each item's key stands for."""
    with Session(engine) as session:
        rows = session.scalars(select(IdempotencyKey).where(IdempotencyKey.key.like("%:item-%")))
        return {int(row.key.rpartition("-")[2]): row.job_id for row in rows}


def read_strangers(engine: Engine) -> int:
    """Dead letters that name no job."""
    with Session(engine) as session:
        found = select(func.count()).select_from(DeadLetter).where(DeadLetter.job_id.is_(None))
        return session.scalar(found) or 0


class _Numbers:
    """Which item a payload belongs to: a mail by its recipient, a file by its name, a deed by itself."""

    def __init__(self, session: Session) -> None:
        deliveries = session.execute(select(EmailDelivery.id, EmailDelivery.to_email))
        self._recipients = {id_: number_of(address) for id_, address in deliveries}
        files = session.execute(select(StoredFile.id, StoredFile.name).where(StoredFile.job_id.is_(None)))
        self._files = {id_: int(name.partition(".")[0]) for id_, name in files}

    def of(self, payload: dict[str, Any]) -> int | None:
        if "delivery_id" in payload:
            return self._recipients.get(payload["delivery_id"])
        if "file_id" in payload:
            return self._files.get(payload["file_id"])
        return payload.get("number")
