"""What the canaries tell: that beat submits, and that each queue is consumed (`tasks.canary`)."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import func, select

from app.reading.queues import pauses
from config.queues import Queue
from db.engine import reading
from db.models import Job
from db.models.jobs import State
from db.types import now
from tasks.canary import sing

# Three canaries are due in this time.
STALE = timedelta(minutes=3)


@dataclass
class Canary:
    """One queue's canaries: how long ago one arrived last and one was submitted last; how long one is under way."""

    arrived: timedelta | None = None
    submitted: timedelta | None = None
    under_way: timedelta | None = None


def canaries() -> dict[Queue, Canary]:
    """Every declared queue's. Housekeeping leaves only the last hours' canaries, so they are few."""
    query = (
        select(
            Job.queue,
            Job.state,
            func.max(Job.finished_at),
            func.min(Job.created_at),
            func.max(Job.created_at),
        )
        .where(Job.type == sing.name)
        .group_by(Job.queue, Job.state)
    )
    with reading() as session:
        rows = session.execute(query).all()
    found, moment = {queue: Canary() for queue in Queue}, datetime.now(UTC)
    for queue, state, finished, oldest, newest in rows:
        if queue not in found:
            # It was declared once.
            continue
        canary = found[Queue(queue)]
        canary.submitted = min(moment - newest, canary.submitted or timedelta.max)
        if finished is None:
            canary.under_way = max(moment - oldest, canary.under_way or timedelta())
        elif state == State.SUCCEEDED:
            canary.arrived = moment - finished
    return found


def beat_silence(found: dict[Queue, Canary]) -> timedelta | None:
    """Since the newest canary was submitted; None if there is none."""
    return min((canary.submitted for canary in found.values() if canary.submitted is not None), default=None)


def beat_stands_still(found: dict[Queue, Canary]) -> bool:
    """Whether beat submits nothing. It adds none to a queue whose last canary is under way."""
    silence = beat_silence(found)
    may_add = any(canary.under_way is None for canary in found.values())
    return may_add and (silence is None or silence > STALE)


def unserved(found: dict[Queue, Canary]) -> dict[Queue, timedelta]:
    """The queues that nobody consumes, and since when their canary has been under way.

    A paused queue is none of them, nor one in which something runs under a lease that is renewed: a worker that
    is busy with long work has no hand free for the canary.
    """
    waiting = {
        queue: canary.under_way
        for queue, canary in found.items()
        if canary.under_way is not None and canary.under_way > STALE
    }
    if not waiting:
        return {}
    busy = select(Job.queue).where(Job.queue.in_(waiting), Job.state == State.RUNNING, Job.due_at > now())
    with reading() as session:
        excused = {*session.scalars(busy.distinct()), *pauses()}
    return {queue: since for queue, since in waiting.items() if queue.value not in excused}


def stalled() -> dict[str, str]:
    """What stands still, and since when. Raises what the database raises."""
    found = canaries()
    told = {
        f"queue {queue}": f"has not been consumed for {_s(since)}" for queue, since in unserved(found).items()
    }
    if beat_stands_still(found):
        silence = beat_silence(found)
        told["beat"] = (
            "has submitted nothing so far" if silence is None else f"has been silent for {_s(silence)}"
        )
    return told


def _s(span: timedelta) -> str:
    return f"{int(span.total_seconds())} s"
