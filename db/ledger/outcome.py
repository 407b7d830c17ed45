"""How a start ends. Every move is one UPDATE guarded by the start's token, so a late worker changes nothing."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, case, insert, literal_column, null, update

from db.ledger.cancel import CANCELLED
from db.ledger.errors import LeaseLost
from db.ledger.letters import Letter, open_letter
from db.ledger.start import Start
from db.ledger.tables import attempts, jobs, literally
from db.models.jobs import State
from db.types import now


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a start did not succeed. Texts hold no contents; `traceback` shows code, never values."""

    outcome: str
    code: str
    message: str
    traceback: str | None = None


_OWNED = (jobs.c.id == bindparam("job_id"), jobs.c.lease_token == bindparam("token"))
# What every move out of `running` leaves behind.
_LEFT = {"lease_token": None, "published_at": None, "suspect": False}
_ENDED = {**_LEFT, "due_at": None, "finished_at": now()}

_SUCCEEDED = {
    "lease_token": null(),
    "published_at": null(),
    "due_at": null(),
    "finished_at": now(),
    "state": literally(State.SUCCEEDED),
    "progress": literal_column("100"),
    "error_code": null(),
    "error_message": null(),
}
_FINISH = update(jobs).where(*_OWNED).values(**_SUCCEEDED, result=bindparam("value"))


def finish(connection: Connection, start: Start, result: dict[str, Any] | None) -> None:
    """running → succeeded. Raises LeaseLost."""
    _owned(
        connection.execute(_FINISH, {"job_id": start.job_id, "token": start.token, "value": result}).rowcount,
        start,
    )


_FINISH_ALIKE = (
    update(jobs)
    .where(jobs.c.id.in_(bindparam("job_ids", expanding=True)), jobs.c.lease_token == bindparam("token"))
    .values(**_SUCCEEDED, result=bindparam("value"))
)


def finish_many(connection: Connection, ended: Sequence[tuple[Start, dict[str, Any] | None]]) -> int:
    """running → succeeded for starts of one token; return how many still owned their job."""
    finished = 0
    alike: dict[str, list[Start]] = {}
    results: dict[str, dict[str, Any] | None] = {}
    for start, result in ended:
        text = json.dumps(result, sort_keys=True)
        results[text] = result
        alike.setdefault(text, []).append(start)
    for text, starts in alike.items():
        # Most results of a bulk are alike; those are one statement.
        ids = [start.job_id for start in starts]
        values = {"job_ids": ids, "token": starts[0].token, "value": results[text]}
        finished += connection.execute(_FINISH_ALIKE, values).rowcount
    return finished


def park(
    connection: Connection, start: Start, failure: Failure, *, delay: timedelta, charge: bool = True
) -> None:
    """running → waiting for `delay`. `charge` counts it against max_retries. Raises LeaseLost."""
    _move(
        connection,
        start,
        {
            **back_to(State.WAITING, now(delay), failure.code, failure.message),
            "failures": jobs.c.failures + (1 if charge else 0),
        },
    )
    _record(connection, start, failure)


def bury(connection: Connection, start: Start, failure: Failure, letter: Letter) -> str:
    """running → dead, with a dead letter; returns the letter's id. Raises LeaseLost."""
    _move(
        connection,
        start,
        {**_ENDED, "state": State.DEAD, "error_code": failure.code, "error_message": failure.message},
    )
    _record(connection, start, failure)
    return open_letter(connection, letter)


def release(connection: Connection, start: Start) -> None:
    """running → queued at once and free of charge: the worker is going away, the job is not at fault."""
    _move(connection, start, back_to(State.QUEUED, now()))
    _record(connection, start, Failure("released", "worker_shutdown", "The worker was shut down."))


def lose(connection: Connection, start: Start, failure: Failure) -> None:
    """running → queued at once, counted as a start whose end nobody can explain. Raises LeaseLost."""
    _move(connection, start, {**back_to(State.QUEUED, now()), "losses": jobs.c.losses + 1})
    _record(connection, start, failure)


def stop(connection: Connection, start: Start) -> None:
    """running → cancelled, at the job's own checkpoint. Raises LeaseLost."""
    _move(connection, start, {**_ENDED, "state": State.CANCELLED, **CANCELLED})


def back_to(state: State, due_at: Any, code: Any = None, message: Any = None) -> dict[str, Any]:
    """Back among the jobs to be started, unless a cancel was asked for meanwhile."""
    cancelled = jobs.c.cancel_requested_at.is_not(None)
    return {
        **_LEFT,
        "state": case((cancelled, State.CANCELLED), else_=state),
        "due_at": case((cancelled, None), else_=due_at),
        "finished_at": case((cancelled, now()), else_=None),
        "error_code": case((cancelled, CANCELLED["error_code"]), else_=code),
        "error_message": case((cancelled, CANCELLED["error_message"]), else_=message),
    }


def _move(connection: Connection, start: Start, values: dict[str, Any]) -> None:
    moved = connection.execute(
        update(jobs).where(*_OWNED).values(values), {"job_id": start.job_id, "token": start.token}
    )
    _owned(moved.rowcount, start)


def _owned(rowcount: int, start: Start) -> None:
    if rowcount != 1:
        raise LeaseLost(start.job_id)


def _record(connection: Connection, start: Start, failure: Failure) -> None:
    connection.execute(
        insert(attempts).values(
            job_id=start.job_id,
            number=start.attempt,
            worker=start.worker,
            outcome=failure.outcome,
            error_code=failure.code,
            error_message=failure.message,
            traceback=failure.traceback,
            started_at=start.started_at,
        )
    )
