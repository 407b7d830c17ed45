"""`/api/v1/queues`, for tokens with the scope `operate`."""

from typing import Any

from app.api.blueprint import api
from app.operators import pause_queue, resume_queue
from app.reading.queues import find_queue, list_queues
from app.security import Scope, api_viewer


@api.get("/queues")
def queues() -> dict[str, Any]:
    """Every queue with what waits in it."""
    api_viewer(Scope.OPERATE)
    return {"queues": [queue.as_json() for queue in list_queues()]}


@api.post("/queues/<name>/pause")
def pause(name: str) -> dict[str, Any]:
    """Let none of its jobs start; one that is paused stays as it is."""
    pause_queue(name, actor=api_viewer(Scope.OPERATE).identity)
    return {"queue": find_queue(name).as_json()}


@api.post("/queues/<name>/resume")
def resume(name: str) -> dict[str, Any]:
    """Let its jobs go on."""
    resume_queue(name, actor=api_viewer(Scope.OPERATE).identity)
    return {"queue": find_queue(name).as_json()}
