"""A program of somebody else's that puts deeds into the ledger: `python -m chaos.producer PLAN RECORD EFFECTS`.

PLAN is a JSON list of `[seconds after the start, number, act]`; RECORD gets `number job-id` for each
deed that was accepted.
"""

import json
import sys
import time
from pathlib import Path

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from chaos.jobs import Deed, deed, overlong
from chaos.plan import Act, Item, Kind
from chaos.records import append
from config.logging import configure_logging
from config.settings import get_settings
from tasks.engine import unit_of_work
from tasks.engine.patience import database_is_away

_LONG = (Act.OVERLONG, Act.OVERLONG_ONCE)
_WAIT_S = 0.5


def produce(plan: Path, record: Path, effects: Path) -> None:
    """Ask for each deed when its time has come."""
    start = time.monotonic()
    for due, number, act in json.loads(plan.read_text()):
        time.sleep(max(0, start + due - time.monotonic()))
        append(record, f"{number} {_accepted(Item(number, Kind.DEED, Act(act)), effects)}")


def _accepted(item: Item, effects: Path) -> str:
    """The job's id. A commit whose answer is lost is repeated under the same key, like any request."""
    job = overlong if item.act in _LONG else deed
    while True:
        try:
            with unit_of_work(created_by="chaos") as work:
                earlier = work.earlier(item.key, item.act)
                ask = Deed(number=item.number, act=item.act, record=str(effects))
                handle = earlier or work.enqueue(job, ask)
        except (DBAPIError, PoolTimeout) as error:
            if not database_is_away(error):
                raise
            time.sleep(_WAIT_S)
        else:
            return handle.id


if __name__ == "__main__":
    configure_logging(get_settings())
    produce(*map(Path, sys.argv[1:]))
