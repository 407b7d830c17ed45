"""Recurring jobs: one run per slot, however many beats there are."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import structlog
from cronsim import CronSim

from config.queues import Queue
from db import ledger
from tasks.engine.job import JobType
from tasks.engine.outbox import unit_of_work
from tasks.engine.payload import Payload

log = structlog.get_logger()

# How long a slot is remembered as taken; longer than any catch_up.
_REMEMBERED = timedelta(days=8)


@dataclass(frozen=True)
class Recurring:
    """One line of the schedule. The expression is read in `timezone`, across changes of daylight saving time:

    a time that the clock skips is made up for right after the gap, one that comes twice runs once (as Debian's
    cron does). With `one_at_a_time` a slot whose predecessor's run has not ended adds none: after a pause or an
    outage they do not come all at once. Raises CronSimError or ZoneInfoNotFoundError for what is none, at import.
    """

    name: str
    cron: str
    timezone: str
    job: JobType[Any]
    payload: Payload
    catch_up: timedelta = timedelta(hours=1)
    queue: Queue | None = None
    one_at_a_time: bool = False
    zone: ZoneInfo = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "zone", ZoneInfo(self.timezone))
        CronSim(self.cron, datetime.now(self.zone))
        if self.catch_up >= _REMEMBERED:
            raise ValueError(f"{self.name}: catch_up must be below {_REMEMBERED.days} days")

    def latest(self, moment: datetime) -> datetime | None:
        """The newest slot at or before `moment` in UTC, unless it is older than `catch_up`."""
        # CronSim looks strictly before; a slot is due in its own second.
        local = (moment + timedelta(seconds=1)).astimezone(self.zone)
        slot = next(CronSim(self.cron, local, reverse=True), None)
        if slot is None or moment - slot > self.catch_up:
            return None
        # An hour that comes twice has two moments of one local name; only in UTC are they told apart.
        return slot.astimezone(UTC)

    def run_latest(self, moment: datetime) -> bool:
        """Enqueue the job of the latest slot unless that was done; True if this call did it."""
        slot = self.latest(moment)
        if slot is None:
            return False
        key = f"schedule:{self.name}:{slot.isoformat()}"
        with unit_of_work() as work:
            if not ledger.take_once(work.session.connection(), key, lifetime=_REMEMBERED):
                return False
            unique_key = self.name if self.one_at_a_time else None
            work.enqueue(self.job, self.payload, queue=self.queue, unique_key=unique_key)
        log.info("schedule.enqueued", name=self.name, slot=slot.isoformat())
        return True
