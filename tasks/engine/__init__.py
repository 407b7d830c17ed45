"""The machinery under every job: declaration, outbox, claim and outcome, relay, leases."""

from tasks.engine.job import JobType, job
from tasks.engine.outbox import JobHandle, UnitOfWork, unit_of_work
from tasks.engine.payload import Id, Payload
from tasks.engine.run import NotYet, Run

__all__ = ["Id", "JobHandle", "JobType", "NotYet", "Payload", "Run", "UnitOfWork", "job", "unit_of_work"]
