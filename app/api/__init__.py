"""The HTTP API, version 1: JSON, bearer tokens, errors as `application/problem+json` (RFC 9457)."""

from app.api import batches, dead_letters, documents, emails, images, jobs, newsletters, openapi, queues
from app.api.blueprint import api

__all__ = [
    "api",
    "batches",
    "dead_letters",
    "documents",
    "emails",
    "images",
    "jobs",
    "newsletters",
    "openapi",
    "queues",
]
