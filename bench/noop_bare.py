"""The peer: the same no-op as a plain Celery task with late acknowledgement and no ledger.

With BENCH_TYPICAL set it is Celery as most people run it: results in Redis, events for Flower.
"""

import os

from celery import Celery

from bench.ticks import tick

TYPICAL = bool(os.environ.get("BENCH_TYPICAL"))
BROKER = os.environ["BROKER_URL"]

app = Celery("bare", broker=BROKER, backend=BROKER if TYPICAL else None, set_as_current=False)
app.conf.update(
    task_acks_late=True,
    worker_prefetch_multiplier=4,
    task_ignore_result=not TYPICAL,
    worker_send_task_events=TYPICAL,
    task_serializer="json",
    accept_content=["json"],
)


@app.task(name="bare.noop")
def noop(number: int) -> None:
    """Only the machinery costs."""
    tick()
