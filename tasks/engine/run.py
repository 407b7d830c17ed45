"""What a job's body may ask of the machinery while it runs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.orm import Session, make_transient

from db import ledger
from db.engine import autocommit, reading_engine, transaction
from db.models import Base
from services.errors import OutcomeUnknown, ServiceError
from tasks.engine.patience import until_database_answers

Row = TypeVar("Row", bound=Base)


class JobCancelled(Exception):
    """Raised by `checkpoint` once somebody has cancelled the job; the body lets it pass."""


class NotYet(Exception):
    """Raised by a body that has to wait for something else: parked for `wait`, free of charge, then started anew.

    The message is shown with the job, and holds no contents.
    """

    def __init__(self, message: str, *, wait: timedelta) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass
class Effect:
    """Something that must happen at most once. A `receipt` that is already there means that it happened."""

    receipt: dict[str, Any] | None = None


@dataclass
class Run:
    """One start of a job."""

    start: ledger.Start
    rows: list[Base] = field(default_factory=list)

    @property
    def job_id(self) -> str:
        """The job's id."""
        return self.start.job_id

    @property
    def created_by(self) -> str:
        """Who asked for the job, and may see what it makes."""
        return self.start.created_by

    @cached_property
    def session(self) -> Session:
        """For reading. It holds no transaction open while the body works."""
        return Session(reading_engine(), autoflush=False, expire_on_commit=False)

    def add(self, row: Row) -> Row:
        """Insert the row in the very transaction that ends the job in success."""
        self.rows.append(row)
        return row

    def checkpoint(self, percent: int | None = None) -> None:
        """Tell how far the job is (0-100) and stop here if it was cancelled or taken over."""
        with autocommit(durable=False) as connection:
            if not ledger.checkpoint(connection, self.start, percent):
                raise JobCancelled(self.job_id)

    @contextmanager
    def once(self, key: str) -> Iterator[Effect]:
        """Around one effect: act only when `effect.receipt` is None, and set it to what came of it.

        Raises OutcomeUnknown when an earlier start began the effect and never told, or when this one ends
        so that nobody can tell.
        """
        earlier = self._begin(key)
        effect = Effect(earlier)
        try:
            yield effect
        except ServiceError as error:
            # A named error says what became of the effect; only this one says that nobody knows.
            self._settle(
                ledger.doubt_effect if isinstance(error, OutcomeUnknown) else ledger.forget_effect, key
            )
            raise
        except BaseException as error:
            self._settle(ledger.doubt_effect, key)
            raise OutcomeUnknown(
                f"Interrupted by {type(error).__name__} while the effect was under way."
            ) from error
        if earlier is None:
            receipt = effect.receipt or {}
            self._settle(lambda connection, _start, k: ledger.record_receipt(connection, k, receipt), key)

    def finish(self, result: dict[str, Any] | None) -> None:
        """The rows that the body made and the job's success are one commit. Raises LeaseLost."""
        if not self.rows:
            # Relaxed: a power cut that takes this commit back means one more run, and what must not happen twice
            # in it stands behind `once`, whose receipts are durable.
            with autocommit(durable=False) as connection:
                ledger.finish(connection, self.start, result)
            return
        with transaction() as connection, Session(connection, expire_on_commit=False) as session:
            ledger.finish(connection, self.start, result)
            for row in self.rows:
                # A commit that was cut off rolled it back, but left it looking as if it were stored.
                make_transient(row)
                session.add(row)
            session.flush()

    def close(self) -> None:
        """Give the reading session's connection back."""
        if "session" in self.__dict__:
            self.session.close()

    def _begin(self, key: str) -> dict[str, Any] | None:
        def commit() -> dict[str, Any] | None:
            with transaction() as connection:
                return ledger.begin_effect(connection, self.start, key)

        try:
            return until_database_answers(commit)
        except ledger.EffectUnknown as error:
            raise OutcomeUnknown("An earlier start began this effect and never said how it ended.") from error
        except ledger.LeaseLost:
            raise
        except BaseException:
            # A time limit, say, while the database was away: the commit may have happened, the effect has not.
            self._settle(ledger.forget_effect, key)
            raise

    def _settle(self, move: Callable[[Connection, ledger.Start, str], None], key: str) -> None:
        def commit() -> None:
            with transaction() as connection:
                move(connection, self.start, key)

        until_database_answers(commit)
