"""`@job`: a thin, typed layer over Celery's task that speaks Celery's own words.

Celery ignores a mistyped task option without a word. Here every option is a named parameter, so Python
refuses it at import.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from celery import Task
from celery.utils.time import get_exponential_backoff_interval

from config.queues import Priority, Queue
from config.rates import Rate
from config.settings import get_settings
from services.errors import Transient
from tasks.engine.celery import app
from tasks.engine.limits import Limit
from tasks.engine.pauses import startable
from tasks.engine.payload import Payload

if TYPE_CHECKING:
    from tasks.engine.outbox import JobHandle
    from tasks.engine.run import Run

P = TypeVar("P", bound=Payload)
Body = Callable[[P, "Run"], dict[str, Any] | None]


@dataclass(frozen=True)
class RetryPolicy:
    """Celery's retry options as one value. Durations in seconds, as Celery has them."""

    autoretry_for: tuple[type[Exception], ...]
    max_retries: int
    retry_backoff: int
    retry_backoff_max: int
    retry_jitter: bool

    def delay(self, failures: int) -> timedelta:
        """The wait before the next start, after `failures` earlier ones (Celery's own formula)."""
        seconds = get_exponential_backoff_interval(
            self.retry_backoff, failures, self.retry_backoff_max, full_jitter=self.retry_jitter
        )
        return timedelta(seconds=max(1, seconds))


class JobType(Task, Generic[P]):  # type: ignore[type-arg]  # Celery's Task takes the body's signature; ours is fixed
    """A declared job. Calling `delay` takes the same road through the ledger as `UnitOfWork.enqueue`."""

    abstract = True
    # Everything that Celery would otherwise look up in its options while modules are being imported.
    from_config = ()
    typing = False
    serializer = "json"
    acks_late = True
    acks_on_failure_or_timeout = True
    reject_on_worker_lost = False
    ignore_result = True
    store_errors_even_if_ignored = False
    store_eager_result = False
    track_started = False
    rate_limit = None
    Request = "tasks.engine.request:JobRequest"

    body: Body[P]
    payload: type[P]
    queue: Queue
    default_priority: Priority
    # Always set, where Celery allows none.
    time_limit: int
    soft_time_limit: int
    retry_policy: RetryPolicy
    owner: str
    batch_size: int
    rate_key: str | None
    own_rate: Rate | None
    weight: Callable[[P], int] | None

    @property
    def limit(self) -> Limit | None:
        """The limit that holds for this job's starts, if there is one."""
        rate = self.own_rate or get_settings().rates.get(self.rate_key or "")
        return Limit(self.rate_key or self.name, rate) if rate or self.rate_key else None

    def weigh(self, payload: P) -> int:
        """How many starts this job counts as under its limit. Raises TooHeavy if that is more than a window holds."""
        if self.weight is None:
            return 1
        weight = self.weight(payload)
        if not isinstance(weight, int) or weight < 1:
            raise ValueError(f"the weight of {self.name} must be a whole number above zero")
        if self.limit is not None:
            self.limit.check(weight)
        return weight

    def run(self, *job_ids: str) -> None:
        """What a worker calls with the ids that a message names."""
        from tasks.engine.bulk import run_bulk  # these need this class
        from tasks.engine.runner import run_job

        match startable(job_ids):
            case []:
                return
            case [job_id]:
                run_job(self, job_id)
            case several:
                run_bulk(self, several)

    def delay(self, payload: P) -> "JobHandle":  # type: ignore[override]  # one payload, never loose arguments
        """Commit the job to the ledger on its own, then publish it."""
        from tasks.engine.outbox import unit_of_work  # the outbox needs this class

        with unit_of_work() as work:
            return work.enqueue(self, payload)

    def apply_async(self, *_args: Any, **_options: Any) -> Any:
        """Refused: it would bypass the ledger."""
        raise TypeError(f"enqueue {self.name} with unit_of_work().enqueue(...) or .delay(payload)")


# Every declared job by name, in the order of declaration.
JOBS: dict[str, JobType[Any]] = {}


def job(
    *,
    queue: str,
    payload: type[P],
    owner: str,
    time_limit: int,
    soft_time_limit: int | None = None,
    autoretry_for: tuple[type[Exception], ...] = (),
    max_retries: int = 5,
    retry_backoff: int = 10,
    retry_backoff_max: int = 3600,
    retry_jitter: bool = True,
    priority: str = "normal",
    rate_limit: str | None = None,
    rate_key: str | None = None,
    weight: Callable[[P], int] | None = None,
    batch_size: int = 1,
    name: str | None = None,
) -> Callable[[Body[P]], JobType[P]]:
    """Declare a job. Times in seconds; `owner` is who its dead letters belong to.

    Every `Transient` error is retried; `autoretry_for` adds exceptions of other kinds. The soft limit
    defaults to nine tenths of the hard one. `rate_limit` ("50/m") holds over all workers. Job types with one
    `rate_key` share a limit: the one that all of them give here, or the setting's (`anthropic` is RATE_ANTHROPIC).
    `weight` says from the payload how many starts a job counts as, so that a limit can be one of tokens or bytes;
    a job that outweighs the limit becomes a dead letter.
    With a `batch_size` one message carries up to that many jobs, and the time limits are the message's.
    Raises ValueError for limits that cannot work.
    """
    soft = soft_time_limit or int(time_limit * 0.9)
    if not 0 < soft < time_limit:
        raise ValueError("soft_time_limit must be above zero and below time_limit, or it never fires")
    own_rate = Rate.parse(rate_limit) if rate_limit else None
    _check_limit(own_rate, rate_key, weight)

    def declare(body: Body[P]) -> JobType[P]:
        task_name = name or f"{body.__module__.removeprefix('tasks.')}.{body.__name__}"
        if task_name in JOBS:
            raise ValueError(f"two jobs are named {task_name}")
        attributes = {
            "name": task_name,
            "__module__": body.__module__,
            "__doc__": body.__doc__,
            "body": staticmethod(body),
            "payload": payload,
            "default_priority": Priority(priority),
            "owner": owner,
            "batch_size": batch_size,
            "rate_key": rate_key,
            "own_rate": own_rate,
            "weight": staticmethod(weight) if weight else None,
            "time_limit": time_limit,
            "soft_time_limit": soft,
            "max_retries": max_retries,
            "retry_policy": RetryPolicy(
                (Transient, *autoretry_for), max_retries, retry_backoff, retry_backoff_max, retry_jitter
            ),
        }
        declared: JobType[P] = type(body.__name__, (JobType,), attributes)()
        # On the instance: Celery warns of a class that names its queue, for it means to drop that option.
        declared.queue = Queue(queue)
        app.register_task(declared)
        JOBS[task_name] = declared
        return declared

    return declare


def _check_limit(rate: Rate | None, key: str | None, weight: object) -> None:
    if weight is not None and not callable(weight):
        raise TypeError("weight must be a function of the payload")
    if weight is not None and rate is None and key is None:
        raise ValueError("a weight needs a rate_limit or a rate_key to count under")
    if any(other.rate_key == key and other.own_rate != rate for other in JOBS.values() if key is not None):
        raise ValueError(f"the job types of rate_key {key} must name one and the same rate_limit")
