"""A job that does nothing but arrive. The age of the last one per queue tells whether workers consume.

Its priority is high: it asks whether somebody takes messages, not how many wait.
"""

from config.queues import Queue
from tasks.engine import Payload, Run, job


class CanaryRef(Payload):
    """The queue it goes through."""

    queue: Queue


@job(
    name="canary.sing",
    queue="default",
    payload=CanaryRef,
    max_retries=0,
    time_limit=10,
    priority="high",
    owner="operators",
)
def sing(ref: CanaryRef, run: Run) -> None:
    """That its row says `succeeded`, and when, is all."""
