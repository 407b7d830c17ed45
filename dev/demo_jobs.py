"""Two jobs that only the demo knows: `celery -A tasks worker --include dev.demo_jobs`."""

import os
import signal
from typing import Any

from services.errors import Transient
from tasks.engine import Payload, Run, job

SUCCEEDS_ON_ATTEMPT = 3


class NotYet(Transient):
    """A service that is busy now and will not be later."""

    code = "not_yet"


class Nothing(Payload):
    """These jobs need nothing."""


@job(
    queue="default",
    payload=Nothing,
    max_retries=5,
    retry_backoff=1,
    retry_backoff_max=2,
    time_limit=20,
    owner="demo",
)
def flaky(_nothing: Nothing, run: Run) -> dict[str, Any]:
    """Fail twice, then succeed."""
    if run.start.attempt < SUCCEEDS_ON_ATTEMPT:
        raise NotYet("The service is busy.")
    return {"attempts_needed": run.start.attempt}


@job(queue="default", payload=Nothing, time_limit=20, owner="demo")
def poison(_nothing: Nothing, _run: Run) -> None:
    """Take the worker's process down, as running out of memory would: no exception, no goodbye."""
    os.kill(os.getpid(), signal.SIGKILL)
