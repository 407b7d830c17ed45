"""The Core tables behind the models: the hot path speaks SQL expressions, not objects."""

from typing import cast

from sqlalchemy import Table

from db import models

jobs = cast(Table, models.Job.__table__)
attempts = cast(Table, models.Attempt.__table__)
batches = cast(Table, models.Batch.__table__)
dead_letters = cast(Table, models.DeadLetter.__table__)
idempotency_keys = cast(Table, models.IdempotencyKey.__table__)
audit_log = cast(Table, models.AuditEntry.__table__)
