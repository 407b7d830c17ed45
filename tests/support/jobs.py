"""Jobs that behave as tests need them: `celery -A tests.support.jobs worker`."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from sqlalchemy import text

from db.engine import autocommit, transaction
from services.errors import Permanent, Transient
from tasks import app
from tasks.engine import Payload, Run, job

__all__ = ["app"]


class Script(Payload):
    """What the job shall do. `record` is a file that gets a line for every effect, outside the system."""

    record: str
    act: str = "succeed"
    seconds: float = 0
    failures: int = 0


@job(
    queue="default",
    payload=Script,
    owner="tests",
    time_limit=20,
    soft_time_limit=18,
    max_retries=3,
    retry_backoff=1,
    retry_jitter=False,
    name="tests.scripted",
)
def scripted(script: Script, run: Run) -> dict[str, Any]:
    """Do as told, leaving a line in the record for the start and one for the effect."""
    note(script, run, "start")
    match script.act:
        case "sleep":
            _sleep(script, run)
        case "flaky" if run.start.attempt <= script.failures:
            raise Transient("not yet")
        case "refuse":
            raise Permanent("never")
        case "break":
            raise ZeroDivisionError
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            sys.exit(3)
        case "take down the worker":
            os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        case "doze":
            time.sleep(script.seconds)
    with run.once(f"scripted:{run.job_id}") as effect:
        if effect.receipt is None:
            note(script, run, "effect")
            if script.act == "die in the effect":
                os.kill(os.getpid(), signal.SIGKILL)
            effect.receipt = {"pid": os.getpid()}
    return {"attempt": run.start.attempt}


@job(
    queue="default",
    payload=Script,
    owner="tests",
    time_limit=2,
    soft_time_limit=1,
    max_retries=1,
    retry_backoff=1,
    retry_jitter=False,
    name="tests.impatient",
)
def impatient(script: Script, run: Run) -> None:
    """Take `seconds`. Told to stall, ignore the soft limit (in a transaction: holding SQLite's write lock); told to ask,
    wait for PostgreSQL."""
    note(script, run, "start")
    match script.act:
        case "stall":
            _stall(script.seconds)
        case "stall in a transaction":
            with transaction():
                _stall(script.seconds)
        case "ask":
            with autocommit(durable=False) as connection:
                connection.execute(text("SELECT pg_sleep(:seconds)"), {"seconds": script.seconds})
        case _:
            time.sleep(script.seconds)
    note(script, run, "effect")


class Weighed(Script):
    """A script that counts as several under its limit."""

    weight: int


@job(
    queue="default",
    payload=Script,
    owner="tests",
    time_limit=20,
    rate_limit="10/s",
    rate_key="tests.shared",
    name="tests.light",
)
def light(script: Script, run: Run) -> None:
    """Take `seconds`, under a limit that `heavy` shares."""
    note(script, run, "start")
    time.sleep(script.seconds)


@job(
    queue="default",
    payload=Weighed,
    owner="tests",
    time_limit=20,
    rate_limit="10/s",
    rate_key="tests.shared",
    weight=lambda script: script.weight,
    name="tests.heavy",
)
def heavy(script: Weighed, run: Run) -> None:
    """Take `seconds`, as several starts at once under the limit of `light`."""
    note(script, run, "start")
    time.sleep(script.seconds)


def note(script: Script, run: Run, what: str) -> None:
    """Append a line in one write, so that lines of several processes never mix."""
    line = f"{time.time():.3f} {what} {run.job_id} {run.start.attempt}\n"
    descriptor = os.open(script.record, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, line.encode())
    os.close(descriptor)


def lines(record: Path, what: str) -> list[str]:
    """The ids of the jobs that left such a line, in order, repeats included."""
    if not record.exists():
        return []
    return [line.split()[2] for line in record.read_text().splitlines() if line.split()[1] == what]


def _sleep(script: Script, run: Run) -> None:
    until = time.monotonic() + script.seconds
    while time.monotonic() < until:
        time.sleep(0.05)
        run.checkpoint()


def _stall(seconds: float) -> None:
    """Ignore everything that can be ignored, as a long call into C does."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            time.sleep(until - time.monotonic())
        except Exception:  # noqa: BLE001  # that is the misbehaviour under test
            continue
