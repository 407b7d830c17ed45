"""Included into the workers that `make run` starts: tells the runner when one is ready, at any log level."""

from typing import Any

from celery.signals import worker_ready


@worker_ready.connect
def _announce(**_signal: Any) -> None:
    print("worker is ready", flush=True)  # dev.run waits for it
