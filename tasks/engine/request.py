"""How Celery's parent process tells us that a child is gone."""

import os
import signal
from contextlib import suppress
from typing import Any

import structlog
from billiard.einfo import ExceptionWithTraceback  # type: ignore[attr-defined]  # missing in its types
from billiard.exceptions import WorkerLostError
from celery.exceptions import TimeLimitExceeded
from celery.worker.request import Request

from db import ledger
from db.engine import autocommit, transaction
from tasks.engine.settle import take_back
from tasks.engine.verdict import WorkerLost
from tasks.engine.worker import worker_id

log = structlog.get_logger()


class JobRequest(Request):
    """Celery's request, reporting a lost child and a hard time limit to the ledger before the message goes."""

    def on_timeout(self, soft: bool, timeout: float) -> None:
        """The hard limit ends the child: that start is a failure like any other."""
        if not soft:
            # Celery does it too, but after this, and the ledger would wait for SQLite's write lock, which the child
            # may hold.
            self._kill_child()
            self._settle(TimeLimitExceeded(timeout))
        super().on_timeout(soft, timeout)

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> Any:
        """A child that died takes its job back to the ledger at once; the lease need not run out first."""
        error = exc_info.exception
        if isinstance(error, ExceptionWithTraceback):
            error = error.exc
        if isinstance(error, WorkerLostError):
            self._settle(WorkerLost())
        return super().on_failure(exc_info, send_failed_event, return_ok)

    def cancel(self, pool: Any, signal: Any = None, emit_retry: bool = True) -> None:
        """The worker is going away: the job returns to the ledger before its child is stopped."""
        try:
            self.give_back()
        finally:
            super().cancel(pool, signal, emit_retry)

    def give_back(self) -> None:
        """Return the job to the ledger, free of charge. Safe to repeat; raises while the database is away."""
        starts = self._starts()
        with transaction() as connection:
            unbegun = ledger.absolve(connection, starts, suspect=False)
        for start in starts:
            with suppress(ledger.LeaseLost), transaction() as connection:
                if start.job_id not in unbegun:
                    ledger.release(connection, start)

    def _kill_child(self) -> None:
        """With whatever it has started, if it leads a group, as billiard does; at once, for a TERM could be ignored."""
        pid = int(self.worker_pid or 0)
        # Pools without child processes name this one.
        if pid in (0, os.getpid()):
            return
        with suppress(ProcessLookupError):
            if os.getpgid(pid) == pid:
                os.killpg(pid, signal.SIGKILL)
            else:
                os.kill(pid, signal.SIGKILL)

    def _settle(self, error: Exception) -> None:
        try:
            take_back(self._starts(), error)
        except Exception as failure:  # noqa: BLE001  # the worker's event loop must go on, and forget this request
            # The relay takes the job back when its lease runs out.
            log.warning("job.not_taken_back", message_id=self.id, error=type(failure).__name__)

    def _starts(self) -> list[ledger.Start]:
        with autocommit() as connection:
            return ledger.running_on(connection, self.args, worker=worker_id())
