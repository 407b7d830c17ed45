"""Deploys: SIGTERM lets running jobs end, for a while; then they go back to the ledger, free of charge.

Celery's warm shutdown waits for ever and its soft shutdown always waits its whole time. A second SIGTERM
hands the jobs back at once; while the database is away, they run on until it answers.
"""

import mmap
import signal
import threading
from datetime import timedelta
from typing import Any

import structlog
from celery import bootsteps
from celery.signals import worker_shutting_down

from tasks.engine.celery import app
from tasks.engine.leases import active_requests
from tasks.engine.patience import until_database_answers
from tasks.engine.request import JobRequest

log = structlog.get_logger()

# Below the grace that compose, Kubernetes and Heroku give (30 s) before they kill.
DRAIN = timedelta(seconds=20)

# One byte that the parent shares with the children it forks; they get no signal.
_draining = mmap.mmap(-1, 1)


def draining() -> bool:
    """Whether this worker has been told to go, as its children may ask as well."""
    return _draining[0] != 0


class Drain(bootsteps.StartStopStep):
    """Watches for the worker's shutdown and bounds it."""

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self._worker = worker
        self._deadline: threading.Timer | None = None

    def start(self, _worker: Any) -> None:
        """Listen for the signal that Celery sends from its own handlers."""
        worker_shutting_down.connect(self._on_signal, weak=False)

    def _on_signal(self, **_signal: Any) -> None:
        _draining[0] = 1
        if self._deadline is None:
            self._deadline = threading.Timer(DRAIN.total_seconds(), self._hand_back)
            self._deadline.daemon = True
            self._deadline.start()
        else:
            # Not here: this is a signal handler, and it may have interrupted anything.
            threading.Thread(target=self._hand_back, daemon=True).start()

    def _hand_back(self) -> None:
        for request in active_requests():
            log.warning("worker.handing_back", message_id=request.id, type=request.name)
            if isinstance(request, JobRequest):
                until_database_answers(request.give_back)
            # One that ended while we waited has left its child to another.
            if request in active_requests():
                request.cancel(self._worker.pool, signal=signal.SIGKILL, emit_retry=False)


app.steps["worker"].add(Drain)
