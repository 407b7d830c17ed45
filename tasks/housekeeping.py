"""What is over is removed, hour by hour."""

from services.retention import remove_expired
from tasks.engine import Payload, Run, job


class Nothing(Payload):
    """There is nothing to say."""


@job(queue="default", payload=Nothing, max_retries=3, time_limit=900, owner="operators")
def tidy(_nothing: Nothing, run: Run) -> dict[str, int]:
    """Remove finished jobs, expired keys, old files, files without a row and personal data; tell how many of each."""
    return remove_expired(run.checkpoint)
