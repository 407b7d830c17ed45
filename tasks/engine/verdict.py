"""What an error means for its job. The decision only; `settle` carries it out."""

import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from celery.exceptions import SoftTimeLimitExceeded, TimeLimitExceeded
from sqlalchemy.exc import SQLAlchemyError

from db.ledger import Failure, Letter, Start
from services.errors import OutcomeUnknown, Permanent, SenderOutage, ServiceError, Throttled, Transient
from tasks.engine.job import JobType, P
from tasks.engine.patience import database_is_away
from tasks.engine.payload import PayloadInvalid, PayloadTooNew
from tasks.engine.run import NotYet

# A start whose end nobody can explain may be the machine's fault; three are the job's.
MAX_LOSSES = 3
# How long jobs wait when our own credentials or configuration are at fault and nobody named a time.
OUTAGE_WAIT = timedelta(minutes=5)
# How long they wait when the other side asked for less without saying how long.
THROTTLED_WAIT = timedelta(minutes=1)
# How long a job waits that lost its database; the verdict itself waits until there is one to write it to.
DATABASE_WAIT = timedelta(seconds=2)
# How long a payload from a newer release waits for a newer worker.
NEWER_WAIT = timedelta(seconds=30)


class WorkerLost(Exception):
    """The process that ran the job is gone: killed, out of memory, or its machine died."""


@dataclass(frozen=True)
class Park:
    """Try again after `delay`."""

    failure: Failure
    delay: timedelta
    charge: bool = True
    # Whether everybody who shares the job's rate key has to wait as long.
    freeze: bool = False


@dataclass(frozen=True)
class Lose:
    """Queue again at once and count the loss."""

    failure: Failure


@dataclass(frozen=True)
class Bury:
    """Give it to people."""

    failure: Failure
    letter: Letter


Verdict = Park | Lose | Bury


def judge(job: JobType[P], start: Start, error: BaseException) -> Verdict:
    """Decide by the error's kind and the job's declared policy."""
    policy = job.retry_policy
    if isinstance(error, SQLAlchemyError):
        error = _time_limit_behind(error) or error
    match error:
        case WorkerLost():
            failure = Failure("lost", "worker_lost", "The worker that ran this job was lost.")
            return (
                Lose(failure) if start.losses + 1 < MAX_LOSSES else _bury(job, start, failure, "worker_lost")
            )
        case OutcomeUnknown():
            return _bury(job, start, _failure(error), "outcome_unknown")
        case Permanent():
            return _bury(job, start, _failure(error), "permanent")
        case SenderOutage():
            return Park(_failure(error), error.retry_after or OUTAGE_WAIT, charge=False, freeze=True)
        case Throttled():
            return Park(_failure(error), error.retry_after or THROTTLED_WAIT, charge=False, freeze=True)
        case NotYet():
            return Park(Failure("parked", "not_yet", str(error)), error.wait, charge=False)
        case PayloadTooNew():
            failure = Failure(
                "parked", "payload_too_new", "Written by a newer release; waits for a newer worker."
            )
            return Park(failure, NEWER_WAIT, charge=False)
        case PayloadInvalid():
            return _bury(job, start, Failure("failed", "payload_invalid", str(error)), "permanent")
        case SoftTimeLimitExceeded() | TimeLimitExceeded():
            failure = Failure("timed_out", "time_limit", f"Longer than its limit of {job.time_limit} s.")
            return _retry(job, start, failure, policy.delay(start.failures))
        case Exception() if database_is_away(error):
            # Counted: some mistakes in a statement look like this as well, and would go round for ever.
            failure = Failure("failed", "database_away", "The database went away while the job was working.")
            return _retry(job, start, failure, DATABASE_WAIT)
        case _ if isinstance(error, policy.autoretry_for):
            named = error.retry_after if isinstance(error, Transient) else None
            delay = max(policy.delay(start.failures), named or timedelta())
            return _retry(job, start, _failure(error), delay)
        case _:
            return _bury(job, start, _failure(error), "bug")


def _time_limit_behind(error: SQLAlchemyError) -> BaseException | None:
    """A soft limit that struck inside SQLAlchemy may come out as an error of its own."""
    return next((cause for cause in _chain(error) if isinstance(cause, SoftTimeLimitExceeded)), None)


def _retry(job: JobType[P], start: Start, failure: Failure, delay: timedelta) -> Verdict:
    if start.failures >= job.retry_policy.max_retries:
        return _bury(job, start, failure, "retries_exhausted")
    return Park(failure, delay)


def _bury(job: JobType[P], start: Start, failure: Failure, reason: str) -> Bury:
    letter = Letter(
        job_id=start.job_id,
        type=start.type,
        queue=job.queue,
        owner=job.owner,
        reason=reason,
        code=failure.code,
        message=failure.message,
        traceback=failure.traceback,
    )
    return Bury(failure, letter)


def _failure(error: BaseException) -> Failure:
    if isinstance(error, ServiceError):
        return Failure("failed", error.code, str(error), _trace(error))
    # The text of an error that we did not write may quote what it choked on.
    return Failure(
        "failed", "bug", f"{type(error).__name__} in the job's code; see the traceback.", _trace(error)
    )


def _trace(error: BaseException) -> str:
    """Where in the code it happened, for the error and its causes; never the errors' own texts."""
    return "\nraised after\n".join(
        f"{type(seen).__qualname__}\n{''.join(traceback.format_tb(seen.__traceback__))}"
        for seen in _chain(error)
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised after, as a traceback would show them."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
