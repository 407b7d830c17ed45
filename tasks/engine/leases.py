"""The worker's parent process keeps the leases of what its children run: one UPDATE for all of them.

It is a thread, so that a busy event loop cannot cost a lease. A thread that holds a lock while the parent
forks would leave the child with a lock that nobody opens, so a fork waits until the thread is between two
renewals.
"""

import os
import threading
import time
from typing import Any

import structlog
from celery import bootsteps
from celery.worker import state
from celery.worker.request import Request

from config.settings import get_settings
from db import ledger
from db.engine import autocommit
from tasks.engine.celery import app
from tasks.engine.job import JOBS
from tasks.engine.patience import database_is_away
from tasks.engine.worker import worker_id

log = structlog.get_logger()

_renewing = threading.Lock()
os.register_at_fork(
    before=_renewing.acquire, after_in_parent=_renewing.release, after_in_child=_renewing.release
)


class LeaseKeeper(bootsteps.StartStopStep):
    """Renews three times per lease, so that two renewals may fail before a job is given up."""

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        # A daemon that nobody stops: while the worker drains, its jobs still need their leases.
        self._thread = threading.Thread(target=self._keep, name="lease-keeper", daemon=True)

    def start(self, _worker: Any) -> None:
        """Begin with the worker."""
        self._thread.start()

    def _keep(self) -> None:
        interval_s = get_settings().lease_seconds / 3
        while True:
            time.sleep(interval_s)
            with _renewing:
                self._renew()

    def _renew(self) -> None:
        running = active_job_ids()
        if not running:
            return
        try:
            with autocommit(durable=False) as connection:
                ledger.renew(connection, running, worker=worker_id(), lease=get_settings().lease)
        except Exception as error:
            if not database_is_away(error):
                raise
            log.warning("lease.not_renewed", jobs=len(running), error=type(error).__name__)


def active_job_ids() -> list[str]:
    """The jobs that this worker's children have begun, by the messages that named them."""
    return [job_id for request in active_requests() if request.name in JOBS for job_id in request.args]


def active_requests() -> list[Request]:
    """What the children are working on, read from outside the worker's event loop."""
    while True:
        try:
            return list(state.active_requests)
        except RuntimeError:
            # The loop added one while the set was being read.
            continue


app.steps["worker"].add(LeaseKeeper)
