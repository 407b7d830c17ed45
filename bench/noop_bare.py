"""The peer: the same no-op as a plain Celery task with late acknowledgement."""

import os

from celery import Celery

from bench.ticks import tick

app = Celery(
    "bare", broker=os.environ["BROKER_URL"], backend=os.environ.get("BENCH_RESULTS"), set_as_current=False
)
app.conf.update(
    task_acks_late=True, worker_prefetch_multiplier=4, task_serializer="json", accept_content=["json"]
)


@app.task(name="bare.noop", ignore_result=not os.environ.get("BENCH_RESULTS"))
def noop(number: int) -> None:
    """Only the machinery costs."""
    tick()
