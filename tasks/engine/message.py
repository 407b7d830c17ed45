"""Celery's message protocol, version 2, as far as this project uses it (docs.celeryq.dev, internals/protocol)."""

import os
from typing import Any

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
