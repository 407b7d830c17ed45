"""The Core tables behind the models: the hot path speaks SQL expressions, not objects."""

from typing import cast

from sqlalchemy import ColumnElement, Table, literal_column

from db import models
from db.models.jobs import State

jobs = cast(Table, models.Job.__table__)
attempts = cast(Table, models.Attempt.__table__)
batches = cast(Table, models.Batch.__table__)
dead_letters = cast(Table, models.DeadLetter.__table__)
idempotency_keys = cast(Table, models.IdempotencyKey.__table__)
audit_log = cast(Table, models.AuditEntry.__table__)
paused_queues = cast(Table, models.PausedQueue.__table__)
refused_work = cast(Table, models.RefusedWork.__table__)


def literally(state: State) -> ColumnElement[str]:
    """The state written into the statement, where a parameter would be looked after at each execution."""
    return literal_column(f"'{state}'")
