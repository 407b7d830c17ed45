"""Celery's room: `celery -A tasks worker`. Importing it declares every job; nothing connects."""

from tasks.engine.celery import app

__all__ = ["app"]
