"""`flask doctor`: is this installation put together so that nothing gets lost?"""

from collections.abc import Callable, Iterator

from app.operations.doctor import configuration, limits, processes, stores
from app.operations.doctor.finding import Finding
from app.operations.doctor.system import System

# In the order in which they are told.
CHECKS: dict[str, Callable[[System], Finding]] = {
    "mode": configuration.mode,
    "secrets": configuration.own_secrets,
    "flower": configuration.flower_door,
    "database": stores.database,
    "database file": stores.database_file,
    "storage": stores.files,
    "clocks": stores.clocks,
    "broker": processes.broker,
    "eviction": processes.eviction,
    "persistence": processes.persistence,
    "limits": processes.limits_server,
    "relay": processes.relay,
    "beat": processes.beat,
    "canaries": processes.canaries,
    "workers": processes.workers,
    "pool": processes.pools,
    "visibility": limits.visibility_timeout,
    "time limits": limits.time_limits,
    "lease": limits.lease,
    "celery": limits.celery_environment,
    "mail server": configuration.mail_server,
    "mail from": configuration.mail_from,
    "anthropic key": configuration.anthropic_key,
}


def examine(system: System | None = None) -> Iterator[tuple[str, Finding]]:
    """Each check's name and finding, one by one as they are made; the slow ones take a second or two."""
    system = system or System()
    for name, check in CHECKS.items():
        yield name, check(system)


__all__ = ["CHECKS", "Finding", "System", "examine"]
