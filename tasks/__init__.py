"""Celery's room: `celery -A tasks worker`. Importing it declares every job; nothing connects."""

# Each module declares its jobs when it is imported. A new job type is one more line here.
from tasks import (
    canary,
    dead_letters,
    documents,
    emails,
    housekeeping,
    images,
)
from tasks.engine import drain, foreign, leases
from tasks.engine.celery import app

__all__ = ["app"]
