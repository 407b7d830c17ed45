"""Celery's message protocol, version 2, as far as this project uses it (docs.celeryq.dev, internals/protocol)."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from db.ledger import Due
from tasks.engine.job import JOBS

# No message of ours carries callbacks.
EMBED = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
_ORIGIN = os.uname().nodename


def headers(task: str, id_: str) -> dict[str, Any]:
    """The headers of a message that names a task and an id, and sets nothing else."""
    return {
        "lang": "py",
        "task": task,
        "id": id_,
        "root_id": id_,
        "parent_id": None,
        "group": None,
        "eta": None,
        "expires": None,
        "retries": 0,
        "timelimit": [None, None],
        # What Flower shows; a foreign message's arguments are not for its eyes.
        "argsrepr": f"('{id_}',)",
        "kwargsrepr": "{}",
        "origin": _ORIGIN,
        "ignore_result": True,
    }


@dataclass(frozen=True)
class Message:
    """What goes into a queue: a task's name and the ids of one job, or in the bulk lane of several."""

    task: str
    queue: str
    priority: str
    job_ids: list[str]


def bundled(jobs: Iterable[Due]) -> list[Message]:
    """The messages for these jobs, in order; jobs of one bulk type, queue and priority share messages."""
    messages: list[Message] = []
    open_ones: dict[tuple[str, str, str], Message] = {}
    for job in jobs:
        size = JOBS[job.type].batch_size if job.type in JOBS and not job.alone else 1
        lane = (job.type, job.queue, job.priority)
        message = open_ones.get(lane) if size > 1 else None
        if message is None or len(message.job_ids) >= size:
            message = Message(*lane, job_ids=[])
            messages.append(message)
            if size > 1:
                open_ones[lane] = message
        message.job_ids.append(job.id)
    return messages
