"""Scripted jobs sent through real processes, and an account of what became of each."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Row

from db.models.jobs import FINAL
from tests.support.jobs import Script, impatient, lines, scripted
from tests.support.ledger import attempts_of, job_row
from tests.support.processes import Process, eventually, relay, worker

on_both_stacks = pytest.mark.parametrize(
    ("any_broker", "database"),
    [
        pytest.param("valkey", "sqlite", id="valkey-sqlite"),
        pytest.param("rabbitmq", "postgresql", id="rabbitmq-postgresql"),
    ],
    indirect=True,
)


class Stack:
    """Starts processes in `folder` and sends them scripted jobs. Jobs append to `record` what they do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = folder / "record"

    @contextmanager
    def running(self, **options: Any) -> Iterator[Process]:
        """A relay and a worker, yields the latter; `options` are the worker's, variables in capitals of both."""
        variables = {name: value for name, value in options.items() if name.isupper()}
        with relay(self.folder, **variables), worker(self.folder, **options) as its_worker:
            yield its_worker

    def send(self, act: str = "succeed", **script: Any) -> str:
        """Enqueue a scripted job; returns its id."""
        return scripted.delay(Script(record=str(self.record), act=act, **script)).id

    def send_impatient(self, act: str, **script: Any) -> str:
        """Enqueue a job with a hard limit of two seconds; returns its id."""
        return impatient.delay(Script(record=str(self.record), act=act, **script)).id

    def begun(self, job_id: str, times: int = 1, *, within: float = 30) -> None:
        """Wait until the job's body has begun so many times."""
        eventually(
            lambda: self.count("start", job_id) >= times, within=within, saying=lambda: self.account(job_id)
        )

    def ended(self, job_id: str, *, within: float = 40) -> Row[Any]:
        """Wait for the job's final state; returns its row."""
        eventually(lambda: job_row(job_id).state in FINAL, within=within, saying=lambda: self.account(job_id))
        return job_row(job_id)

    def ended_all(self, *job_ids: str) -> bool:
        """Whether all of them are in a final state by now."""
        return all(job_row(job_id).state in FINAL for job_id in job_ids)

    def count(self, what: str, job_id: str) -> int:
        """How often the job left this line in the record."""
        return lines(self.record, what).count(job_id)

    def outcomes(self, job_id: str) -> list[str]:
        """How the job's unsuccessful starts ended."""
        return [attempt.outcome for attempt in attempts_of(job_id)]

    def account(self, job_id: str) -> str:
        """What is known about the job, and what the processes printed."""
        row = job_row(job_id)._asdict()
        logs = "\n".join(f"== {log.name}\n{log.read_text()[-3000:]}" for log in self.folder.glob("*.log"))
        return f"{row}\n{self.outcomes(job_id)}\n{logs}"
