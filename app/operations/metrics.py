"""Prometheus figures, read from the ledger at each scrape: the same from every web process."""

import math
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from sqlalchemy import func, select

from app.intake.admission import queue_pressure, write_refusals
from app.operations import canaries
from app.operations.recent import durations, failed_attempts, jobs_by_state
from app.reading.queues import backlogs, broker_messages, pauses
from config.queues import Priority, Queue
from config.settings import get_settings
from db import ledger
from db.engine import reading
from db.models import DeadLetter
from db.models.jobs import FINAL, State
from tasks.engine.job import JOBS

_LABELS = ("queue", "type")


def exposition() -> tuple[bytes, str]:
    """The figures in Prometheus' text format, and its content type."""
    registry = CollectorRegistry()
    registry.register(LedgerFigures())
    return generate_latest(registry), CONTENT_TYPE_LATEST


class LedgerFigures(Collector):
    """Every declared type has its series, at zero when there is nothing to count."""

    def describe(self) -> list[Metric]:
        """Nothing, so that registering reads nothing."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Raises what the database raises."""
        yield from _unfinished()
        yield _paused()
        yield from _canaries()
        yield from _pressure()
        yield _refused()
        yield _dead_letters()
        yield from _last_hour()
        yield from _durations()
        yield from _broker()


def _types() -> list[tuple[str, str]]:
    return [(job.queue.value, job.name) for job in JOBS.values()]


def _unfinished() -> Iterator[GaugeMetricFamily]:
    depth = GaugeMetricFamily("jobs_unfinished", "Jobs that are not final.", labels=(*_LABELS, "state"))
    age = GaugeMetricFamily(
        "jobs_oldest_queued_age_seconds", "Since the oldest queued job was submitted.", labels=_LABELS
    )
    now, ages = datetime.now(UTC), dict.fromkeys(_types(), 0.0)
    counts = {(*type_, state.value): 0 for type_ in _types() for state in State if state not in FINAL}
    for backlog in backlogs():
        counts[backlog.queue, backlog.type, backlog.state] = backlog.jobs
        if backlog.state == State.QUEUED:
            ages[backlog.queue, backlog.type] = (now - backlog.oldest).total_seconds()
    for labels, count in counts.items():
        depth.add_metric(labels, count)
    for type_, seconds in ages.items():
        age.add_metric(type_, seconds)
    yield depth
    yield age


def _paused() -> GaugeMetricFamily:
    family = GaugeMetricFamily("queue_paused", "1 while none of its jobs may start.", labels=("queue",))
    resting = pauses()
    for queue in Queue:
        family.add_metric((queue.value,), queue in resting)
    return family


def _canaries() -> Iterator[GaugeMetricFamily]:
    age = GaugeMetricFamily(
        "canary_age_seconds", "Since a canary has last come through; +Inf if none has.", labels=("queue",)
    )
    stuck = GaugeMetricFamily(
        "queue_unserved", "1 while nobody takes its canary, and nothing of it runs.", labels=("queue",)
    )
    found = canaries.canaries()
    nobody = canaries.unserved(found)
    for queue, canary in found.items():
        age.add_metric((queue.value,), _seconds(canary.arrived))
        stuck.add_metric((queue.value,), queue in nobody)
    yield age
    yield stuck
    yield GaugeMetricFamily(
        "beat_silence_seconds",
        "Since beat has last submitted a canary; +Inf if it never has.",
        value=_seconds(canaries.beat_silence(found)),
    )


def _seconds(span: timedelta | None) -> float:
    return math.inf if span is None else span.total_seconds()


def _pressure() -> Iterator[GaugeMetricFamily]:
    settings, labels = get_settings(), ("queue",)
    families = [
        GaugeMetricFamily(
            "queue_depth", "Jobs that wait for a worker, counted up to 1.5 limits.", labels=labels
        ),
        GaugeMetricFamily("queue_age_seconds", "Since its oldest message was published.", labels=labels),
        GaugeMetricFamily("queue_depth_limit", "The depth at which new work is refused.", labels=labels),
        GaugeMetricFamily("queue_age_limit_seconds", "The age at which new work is refused.", labels=labels),
    ]
    for queue in Queue:
        found = queue_pressure(queue)
        limits = (settings.queue_max_depth, settings.queue_max_age_seconds)
        for family, figure in zip(families, (found.depth, found.age.total_seconds(), *limits), strict=True):
            family.add_metric((queue.value,), figure)
    yield from families


def _refused() -> CounterMetricFamily:
    family = CounterMetricFamily(
        "submissions_refused", "Submissions that a full queue has refused.", labels=("queue", "priority")
    )
    write_refusals()
    counts = {(queue.value, priority.value): 0 for queue in Queue for priority in Priority}
    with reading() as session:
        counts |= ledger.refused(session.connection())
    for labels, count in counts.items():
        family.add_metric(labels, count)
    return family


def _dead_letters() -> GaugeMetricFamily:
    family = GaugeMetricFamily("dead_letters_open", "Dead letters that wait for a person.", labels=_LABELS)
    query = (
        select(DeadLetter.queue, DeadLetter.type, func.count())
        .where(DeadLetter.resolution.is_(None))
        .group_by(DeadLetter.queue, DeadLetter.type)
    )
    counts = dict.fromkeys(_types(), 0)
    with reading() as session:
        counts |= {(queue, type_): count for queue, type_, count in session.execute(query)}
    for labels, count in counts.items():
        family.add_metric(labels, count)
    return family


def _last_hour() -> Iterator[GaugeMetricFamily]:
    submitted = GaugeMetricFamily(
        "jobs_last_hour",
        "Jobs submitted within the last hour, by their state now.",
        labels=(*_LABELS, "state"),
    )
    failed = GaugeMetricFamily(
        "job_failed_attempts_last_hour", "Starts that failed within the last hour.", labels=_LABELS
    )
    ratio = GaugeMetricFamily(
        "job_failure_ratio_last_hour", "Of the jobs of the last hour that ended, the dead.", labels=_LABELS
    )
    with reading() as session:
        states, faults = jobs_by_state(session), failed_attempts(session)
    ended: Counter[tuple[str, str]] = Counter()
    dead: Counter[tuple[str, str]] = Counter()
    for queue, type_, state, count in states:
        submitted.add_metric((queue, type_, state), count)
        ended[queue, type_] += count if state in (State.SUCCEEDED, State.DEAD) else 0
        dead[queue, type_] += count if state == State.DEAD else 0
    attempts = dict.fromkeys(_types(), 0) | {(queue, type_): count for queue, type_, count in faults}
    for labels, count in attempts.items():
        failed.add_metric(labels, count)
    for labels in dict.fromkeys([*_types(), *ended]):
        ratio.add_metric(labels, dead[labels] / ended[labels] if ended[labels] else 0)
    yield from (submitted, failed, ratio)


def _durations() -> Iterator[GaugeMetricFamily]:
    families = [
        GaugeMetricFamily(f"job_{what}_seconds_{figure}", f"{text}, jobs of the last hour.", labels=_LABELS)
        for what, text in (("wait", "From submission to the start"), ("run", "From the start to success"))
        for figure in ("mean", "max")
    ]
    with reading() as session:
        rows = durations(session)
    for queue, type_, figures in rows:
        for family, figure in zip(families, figures, strict=True):
            family.add_metric((queue, type_), figure)
    yield from families


def _broker() -> Iterator[GaugeMetricFamily]:
    messages = broker_messages()
    yield GaugeMetricFamily("broker_up", "Whether the broker answers.", value=messages is not None)
    family = GaugeMetricFamily("broker_messages", "Messages that wait in the broker.", labels=("queue",))
    for queue, count in (messages or {}).items():
        family.add_metric((queue.value,), count)
    yield family
