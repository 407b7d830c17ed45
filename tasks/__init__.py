"""Celery's room: `celery -A tasks worker`. Importing it declares every job; nothing connects.

A new job type is one more module in this list.
"""

from tasks import dead_letters, documents, emails, images
from tasks.engine import drain, foreign, leases
from tasks.engine.celery import app

__all__ = ["app", "dead_letters", "documents", "drain", "emails", "foreign", "images", "leases"]
