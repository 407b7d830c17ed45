"""The project's jobs and two of this run's own: `celery -A chaos.jobs worker`."""

import os
import signal
import time
from typing import Any

from chaos.plan import Act
from chaos.records import append
from services.errors import Permanent, Transient
from tasks import app
from tasks.engine import Payload, Run, job

__all__ = ["app", "deed", "overlong"]

_FLAKY_FAILURES = 2
_SLOW_S = 0.7


class Deed(Payload):
    """What to do. `record` is a file that gets a line for every effect, outside the system."""

    number: int
    act: Act
    record: str


@job(
    queue="default",
    payload=Deed,
    owner="chaos",
    time_limit=60,
    max_retries=3,
    retry_backoff=1,
    retry_backoff_max=2,
)
def deed(ask: Deed, run: Run) -> dict[str, Any]:
    """Fail in the way that is asked for, or leave one line in the record."""
    match ask.act:
        case Act.FLAKY if run.start.failures < _FLAKY_FAILURES:
            raise Transient("Not yet.")
        case Act.REFUSE:
            raise Permanent("Never.")
        case Act.BREAK:
            raise ZeroDivisionError
        case Act.DIE:
            os.kill(os.getpid(), signal.SIGKILL)
        case Act.TAKE_DOWN:
            os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
    with run.once(f"deed:{ask.number}") as effect:
        if effect.receipt is None:
            append(ask.record, f"{ask.number} {run.job_id}")
            if ask.act is Act.DIE_IN_EFFECT:
                os.kill(os.getpid(), signal.SIGKILL)
            if ask.act is Act.SLOW:
                time.sleep(_SLOW_S)
            effect.receipt = {"pid": os.getpid()}
    return {"attempt": run.start.attempt}


@job(
    queue="default",
    payload=Deed,
    owner="chaos",
    time_limit=3,
    soft_time_limit=2,
    max_retries=1,
    retry_backoff=1,
    retry_jitter=False,
)
def overlong(ask: Deed, run: Run) -> dict[str, Any]:
    """Ignore the soft limit, as a long call into C does, until the hard one kills the process."""
    until = time.monotonic() + 60
    while time.monotonic() < until and (ask.act is Act.OVERLONG or run.start.failures == 0):
        try:
            time.sleep(until - time.monotonic())
        except Exception:  # noqa: BLE001  # that is the misbehaviour
            continue
    with run.once(f"deed:{ask.number}") as effect:
        if effect.receipt is None:
            append(ask.record, f"{ask.number} {run.job_id}")
            effect.receipt = {}
    return {"attempt": run.start.attempt}
