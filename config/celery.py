"""Celery's options, each line saying why. Names are Celery's own, in lower case."""

from datetime import timedelta
from typing import Any

from config.queues import MAX_PRIORITY, Queue
from config.settings import Settings

# A message that is not acknowledged for this long is handed out again (Redis, SQS). Long waits live in the
# ledger, so this only has to exceed the longest hard time limit; a contract test holds it to that.
VISIBILITY_TIMEOUT = timedelta(hours=1)


def celery_options(settings: Settings) -> dict[str, Any]:
    """The options for `settings`, as Celery's configuration mapping."""
    return {
        "broker_url": settings.broker_url,
        "broker_transport": transport(settings.broker_url),
        "broker_transport_options": transport_options(settings.broker_url),
        # A worker started before its broker waits for it, and for ever: the supervisor is not its broker's keeper.
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        # Unset, a pool that is used up makes a request wait without end.
        "broker_pool_acquire_timeout": 1.0,
        # The ledger holds results; a second copy in Redis would cost a fifth of the throughput and could disagree.
        "result_backend": None,
        "task_ignore_result": True,
        # Nothing is ever unpickled.
        "task_serializer": "json",
        "accept_content": ["json"],
        # A message is acknowledged when its job has ended or was handed back to the ledger.
        "task_acks_late": True,
        "task_acks_on_failure_or_timeout": True,
        # The ledger counts and retries lost starts. Requeueing by the broker as well would loop a poison job.
        "task_reject_on_worker_lost": False,
        # With late acknowledgement this is one message per free process: none waits behind a long job.
        "worker_prefetch_multiplier": 1,
        # It looks at each message before Celery does, so that nothing foreign stops or vanishes.
        "worker_consumer": "tasks.engine.consumer:Consumer",
        # The lease decides who runs a job, not the broker's connection.
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        # A name that is not declared is a mistake, not a new queue that nobody serves.
        "task_queues": {queue.value: _queue(queue, settings.broker_url) for queue in Queue},
        "task_create_missing_queues": False,
        "task_default_queue": Queue.DEFAULT.value,
        "task_routes": {"dead_letter.*": {"queue": Queue.DEAD_LETTER.value}},
        # Our own scheduler keeps nothing in a file and may run in any number of copies.
        "beat_scheduler": "tasks.engine.beat:LedgerScheduler",
        "enable_utc": True,
        "timezone": "UTC",
        # Our own logging is set up on the `setup_logging` signal.
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
    }


def transport(broker_url: str) -> str | None:
    """kombu's transport for the URL; None leaves it to the URL's scheme."""
    if broker_url.startswith(("redis://", "rediss://")):
        return "tasks.engine.redis_transport:Transport"
    return None


def transport_options(broker_url: str, *, patience: float = 30) -> dict[str, Any]:
    """kombu's transport options. `patience` (seconds) bounds each wait on the network."""
    visibility = VISIBILITY_TIMEOUT.total_seconds()
    if broker_url.startswith(("redis://", "rediss://")):
        return {
            "visibility_timeout": visibility,
            "priority_steps": list(range(MAX_PRIORITY + 1)),
            "queue_order_strategy": "priority",
            # redis-py's own default of 5 s would cut its blocking reads short.
            "socket_timeout": patience,
            "socket_connect_timeout": min(patience, 5),
            "socket_keepalive": True,
            "health_check_interval": 25,
        }
    if broker_url.startswith("sqs://"):
        return {"visibility_timeout": int(visibility), "wait_time_seconds": 20, "queue_name_prefix": "jobs-"}
    return {
        # RabbitMQ says when it has a message on disk; without this a publish is a hope.
        "confirm_publish": True,
        "read_timeout": patience,
        "write_timeout": patience,
        "connect_timeout": min(patience, 5),
    }


def _queue(queue: Queue, broker_url: str) -> dict[str, Any]:
    options: dict[str, Any] = {"exchange": queue.value, "routing_key": queue.value}
    if broker_url.startswith("amqp"):
        # RabbitMQ drops a consumer that holds a message longer than its own limit (30 minutes by default).
        options["queue_arguments"] = {
            "x-max-priority": MAX_PRIORITY,
            "x-consumer-timeout": int(VISIBILITY_TIMEOUT.total_seconds() * 1000),
        }
    return options
