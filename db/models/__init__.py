"""Every table of the project. Importing this module registers them all for migrations."""

from db.models.access import ApiToken, AuditEntry
from db.models.base import Base
from db.models.documents import Analysis
from db.models.email import EmailDelivery
from db.models.files import StoredFile
from db.models.jobs import Attempt, Batch, DeadLetter, IdempotencyKey, Job
from db.models.newsletters import Newsletter, Unsubscribe
from db.models.queues import PausedQueue, RefusedWork

__all__ = [
    "Analysis",
    "ApiToken",
    "Attempt",
    "AuditEntry",
    "Base",
    "Batch",
    "DeadLetter",
    "EmailDelivery",
    "IdempotencyKey",
    "Job",
    "Newsletter",
    "PausedQueue",
    "RefusedWork",
    "StoredFile",
    "Unsubscribe",
]
