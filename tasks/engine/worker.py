"""Who this worker is. Children inherit it, so a row tells which parent process renews its lease."""

import os
import secrets
from typing import Any

from celery.signals import celeryd_init, worker_process_init

from db.engine import keep_connections

_identity = f"process@{os.uname().nodename}:{secrets.token_hex(4)}"


def worker_id() -> str:
    """`name@host:random`, new with every start of the parent process."""
    return _identity


@celeryd_init.connect
def _name_worker(sender: str | None = None, **_signal: Any) -> None:
    global _identity
    _identity = f"{sender or 'worker'}:{secrets.token_hex(4)}"[:120]


@worker_process_init.connect
def _keep_connections(**_signal: Any) -> None:
    keep_connections()
