"""Celery's beat with our schedule: it keeps nothing in a file, and any number of copies may run.

Each second it looks whether the latest slot of each line has been taken; the unique key of the slot decides
between several beats, and a beat that was away finds what it missed.
"""

from datetime import UTC, datetime
from typing import Any

import structlog
from celery.beat import Scheduler

from tasks.engine.patience import database_is_away
from tasks.engine.recurring import Recurring

log = structlog.get_logger()

LOOK_EVERY_S = 1.0
_AWAY_S = 5.0


class LedgerScheduler(Scheduler):
    """Takes the schedule from `tasks.schedule`; Celery's own one is not used."""

    _taken: dict[str, datetime]

    def setup_schedule(self) -> None:
        """Nothing to set up: what has run is in the database."""
        self._taken = {}

    def tick(self, *_args: Any, **_options: Any) -> float:
        """Enqueue what is due and return the seconds until the next look."""
        from tasks.schedule import SCHEDULE  # it declares jobs, which need the app that loads this scheduler

        try:
            for line in SCHEDULE:
                self._look(line, datetime.now(UTC))
        except Exception as error:
            if not database_is_away(error):
                raise
            log.warning("beat.database_away", error=type(error).__name__)
            return _AWAY_S
        return LOOK_EVERY_S

    def _look(self, line: Recurring, moment: datetime) -> None:
        slot = line.latest(moment)
        # Only the first look at a slot asks the database.
        if slot is not None and self._taken.get(line.name) != slot:
            line.run_latest(moment)
            self._taken[line.name] = slot

    def close(self) -> None:
        """Nothing is open."""
