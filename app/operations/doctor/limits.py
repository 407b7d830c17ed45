"""Checks of times against each other."""

from datetime import timedelta

from app.operations.doctor.finding import Finding, error, ok, warning
from app.operations.doctor.system import System
from config.celery import VISIBILITY_TIMEOUT
from tasks.engine.job import JOBS

# Renewed three times per lease: below the first a slow database costs leases that are alive, beyond the
# second the jobs of a killed worker wait long.
_SHORTEST_LEASE = timedelta(seconds=5)
_LONGEST_LEASE = timedelta(minutes=5)


def visibility_timeout(_system: System) -> Finding:
    """A message that is handed out again while its job still runs is one start in vain for each timeout."""
    longest = max(JOBS.values(), key=lambda job: job.time_limit or 0)
    limit = timedelta(seconds=longest.time_limit or 0)
    if limit < VISIBILITY_TIMEOUT:
        return ok(f"{VISIBILITY_TIMEOUT} exceeds the longest time limit, {limit} ({longest.name})")
    says = f"{VISIBILITY_TIMEOUT} does not exceed the time limit of {longest.name}, {limit}"
    return error(
        says, f"VISIBILITY_TIMEOUT = timedelta(seconds={int(2 * limit.total_seconds())})  # config/celery.py"
    )


def time_limits(_system: System) -> Finding:
    """A soft limit at or above the hard one never fires."""
    for job in JOBS.values():
        if not 0 < (job.soft_time_limit or 0) < (job.time_limit or 0):
            change = (
                f"soft_time_limit={int((job.time_limit or 60) * 0.9)}  # in the declaration of {job.name}"
            )
            return error(f"the soft limit of {job.name} is not below its hard one", change)
    return ok(f"{len(JOBS)} types of job have a soft limit below their hard one")


def lease(system: System) -> Finding:
    """How long a worker may be silent."""
    length = system.settings.lease
    if length < _SHORTEST_LEASE:
        return warning(f"{length.total_seconds():g} s; a slow database would cost leases", "LEASE_SECONDS=30")
    if length > _LONGEST_LEASE:
        return warning(
            f"{length.total_seconds():g} s; the jobs of a killed worker wait that long", "LEASE_SECONDS=30"
        )
    return ok(f"{length.total_seconds():g} s, renewed every {length.total_seconds() / 3:g} s")


def celery_environment(system: System) -> Finding:
    """CELERY_BROKER_URL and CELERY_RESULT_BACKEND win over everything that Celery is told."""
    if system.overruled:
        names = ", ".join(f"CELERY_{name.upper()}" for name in system.overruled)
        return error(f"{names} overrules our settings", f"unset {names.replace(',', '')}")
    return ok("results stay in the ledger; nothing overrules our settings")
