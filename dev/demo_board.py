"""The demo's table: what each job should come to, and what it has come to so far."""

import time
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table
from sqlalchemy import select

from db.engine import reading
from db.models import Job
from db.models.jobs import FINAL, State


@dataclass
class Row:
    """One job and what it is there to show. `attempts`: how many starts it should have taken."""

    label: str
    job_id: str
    state: State = State.SUCCEEDED
    attempts: int = 1
    seen: Any = None

    @property
    def final(self) -> bool:
        """Whether nothing will change any more."""
        return self.seen is not None and self.seen.state in FINAL

    @property
    def as_expected(self) -> bool:
        """Whether it came to what it should."""
        return self.final and (self.seen.state, self.seen.attempts) == (self.state, self.attempts)


@dataclass
class Board:
    """All rows; `look` asks the ledger once for all of them."""

    rows: list[Row] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def look(self) -> None:
        """Read each job's state."""
        with reading() as session:
            columns = (Job.id, Job.state, Job.attempts, Job.error_code)
            query = select(*columns).where(Job.id.in_({row.job_id for row in self.rows}))
            seen = {job.id: job for job in session.execute(query)}
        for row in self.rows:
            row.seen = seen.get(row.job_id)

    @property
    def finished(self) -> bool:
        """Whether every job has ended."""
        return all(row.final for row in self.rows)

    def table(self) -> Table:
        """The rows as they are now."""
        table = Table(
            title=f"{time.monotonic() - self.began:.1f} s", title_justify="left", box=None, padding=(0, 2)
        )
        for heading in ("job", "state", "attempts", "error", "as expected"):
            table.add_column(heading, justify="right" if heading == "attempts" else "left", no_wrap=True)
        for row in self.rows:
            if row.seen is None:
                continue
            verdict = "..." if not row.final else "yes" if row.as_expected else "NO"
            table.add_row(
                row.label, row.seen.state, str(row.seen.attempts), row.seen.error_code or "", verdict
            )
        return table
