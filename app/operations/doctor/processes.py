"""Checks of the broker, the workers and the relays."""

from app.operations.doctor.finding import Finding, error, ok, unknown, warning
from app.operations.doctor.system import System
from app.operations.relay import LATE
from config.queues import Queue
from tasks.engine import broker as messages
from tasks.engine.publisher import BrokerUnavailable


def broker(_system: System) -> Finding:
    """Reached, by looking at a queue and, on Redis, by writing."""
    try:
        messages.ping()
    except messages.BrokerRefuses as fault:
        return error(f"refuses writes ({fault})", "maxmemory 0  # redis.conf; or more; or not a replica")
    except BrokerUnavailable:
        return error("does not answer", "BROKER_URL=redis://HOST:6379/0, or start it")
    return ok("answers")


def limits_server(system: System) -> Finding:
    """Limits that hold across workers are kept in a Redis."""
    if system.settings.limits_url is None:
        return error("limits need a Redis, and the broker is none", "REDIS_URL=redis://HOST:6379/0")
    if system.limits_redis is None:
        change = "REDIS_URL=redis://HOST:6379/0, or start it"
        return error("the Redis that keeps them does not answer", change)
    return ok("kept in Redis, which answers")


def eviction(system: System) -> Finding:
    """A Redis that is full must refuse, never forget."""
    servers = [server for server in (system.redis, system.limits_redis) if server is not None]
    for server in servers:
        if server.eviction not in (None, "noeviction"):
            says = f"a full Redis would drop messages or limits ({server.eviction})"
            return error(says, "maxmemory-policy noeviction  # redis.conf")
    if any(server.eviction is None for server in servers):
        change = "maxmemory-policy noeviction  # in the provider's settings, if that is not so already"
        return warning("unknown: the server does not tell its maxmemory-policy", change)
    return ok("noeviction") if servers else unknown("no Redis answers")


def persistence(system: System) -> Finding:
    """Without it a restart loses the messages; the relay publishes them again."""
    server = system.redis
    if server is None:
        return unknown("the broker is no Redis, or does not answer")
    if server.persistent is None:
        return unknown("the server does not tell")
    if server.persistent:
        return ok("messages are there after a restart")
    says = "a restart loses the messages; the relay publishes them again within a minute"
    if system.settings.app_env == "development":
        return ok(says)
    return warning(says, "appendonly yes  # redis.conf")


def workers(system: System) -> Finding:
    """Each queue has somebody who listens."""
    if system.workers is None:
        return unknown("the broker does not answer, or carries no questions")
    heard = {queue for worker in system.workers for queue in worker.queues}
    missing = [queue.value for queue in Queue if queue.value not in heard]
    if missing:
        says = f"no worker answered for {', '.join(missing)}"
        return warning(says, f"celery -A tasks worker --queues {','.join(missing)}")
    count = len(system.workers)
    return ok(f"{count} {'worker listens' if count == 1 else 'workers listen'} to all queues")


def pools(system: System) -> Finding:
    """Only prefork can end a job at its hard limit and outlive a child that dies."""
    others = [worker for worker in system.workers or () if worker.pool not in ("prefork", "unknown")]
    if others:
        says = f"{others[0].name} uses {others[0].pool}, where hard time limits do not work"
        return warning(says, "celery -A tasks worker --pool prefork …")
    return ok("prefork") if system.workers else unknown("no worker answered")


def relay(system: System) -> Finding:
    """Judged by its work, as it may run elsewhere."""
    database = system.database
    if database is not None and database.behind > LATE:
        seconds = int(database.behind.total_seconds())
        return error(f"a job is overdue by {seconds} s and nobody publishes it", "flask relay")
    if not system.relays:
        return warning("none on this machine; nothing is overdue, so one may run elsewhere", "flask relay")
    return ok(f"{system.relays} on this machine, and nothing is overdue")


def beat(system: System) -> Finding:
    """Judged by its canaries, as it may run elsewhere."""
    if system.stalled is None:
        return unknown("the database does not answer")
    if "beat" in system.stalled:
        return warning(f"{system.stalled['beat']}; nothing that recurs is done", "celery -A tasks beat")
    return ok("its canaries come every minute")


def canaries(system: System) -> Finding:
    """A worker that answers need not consume; that its queue's canary arrives proves it."""
    if system.stalled is None:
        return unknown("the database does not answer")
    for name, why in system.stalled.items():
        if name != "beat":
            return error(f"{name} {why}", f"celery -A tasks worker --queues {name.split()[-1]}  # restart it")
    return ok("no queue keeps its canary waiting")
