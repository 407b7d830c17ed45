"""A job that does nothing, through the ledger: `celery -A bench.noop_ledger worker`."""

from bench.ticks import tick
from tasks import app
from tasks.engine import Payload, Run, job

__all__ = ["app", "bulk_noop", "limited_noop", "noop"]


class Nothing(Payload):
    """No content."""

    number: int


@job(queue="default", payload=Nothing, owner="bench", time_limit=60, name="bench.noop")
def noop(_nothing: Nothing, _run: Run) -> None:
    """Only the machinery costs."""
    tick()


@job(queue="default", payload=Nothing, owner="bench", time_limit=60, batch_size=100, name="bench.bulk_noop")
def bulk_noop(_nothing: Nothing, _run: Run) -> None:
    """The same in the bulk lane."""
    tick()


@job(
    queue="default",
    payload=Nothing,
    owner="bench",
    time_limit=60,
    rate_limit="10/s",
    name="bench.limited_noop",
)
def limited_noop(_nothing: Nothing, _run: Run) -> None:
    """The same under a limit."""
    tick()
