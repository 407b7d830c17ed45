"""Celery's room: `celery -A tasks worker`. Importing it declares every job; nothing connects.

A new job type is one more module in this list.
"""

from tasks import canary, dead_letters, documents, emails, housekeeping, images
from tasks.engine import drain, foreign, leases
from tasks.engine.celery import app

__all__ = [
    "app",
    "canary",
    "dead_letters",
    "documents",
    "drain",
    "emails",
    "foreign",
    "housekeeping",
    "images",
    "leases",
]
