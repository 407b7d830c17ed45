"""What every measurement stands on: a folder, a Valkey of its own, a database, an environment."""

import os
import shutil
import socket
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import redis
from sqlalchemy import make_url

from config.settings import get_settings
from db import engine as engines
from db.migrate import migrate
from db.types import new_id
from dev.services import valkey_answers, valkey_command
from tasks.engine.celery import app
from tasks.engine.publisher import publisher
from tests.support.processes import Process, eventually

POSTGRES_URL = os.environ.get("TEST_POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/postgres")


@dataclass
class Row:
    """One line of the report: what was measured, the figure, and the ratio that people should look at."""

    what: str
    figure: str
    ratio: str = ""
    wanted: str = ""


@dataclass
class Stage:
    """Where a measurement runs."""

    folder: Path
    redis_url: str
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def ticks(self) -> int:
        """How many no-ops have run."""
        path = self.folder / "ticks"
        return path.stat().st_size if path.exists() else 0

    def reset(self) -> None:
        """Empty the broker and the counter."""
        with redis.Redis.from_url(self.redis_url) as client:
            client.flushall()
            client.config_resetstat()
        (self.folder / "ticks").unlink(missing_ok=True)

    def use(self, database: str) -> None:
        """Point this process and those it starts at a fresh, migrated database: `sqlite` or `postgresql`."""
        url = _fresh_sqlite(self.folder) if database == "sqlite" else _fresh_postgresql()
        self.environment |= {
            "DATABASE_URL": url,
            "BROKER_URL": self.redis_url,
            "ENV_FILE": "",
            "LOG_LEVEL": "WARNING",
            "STORAGE_URL": str(self.folder / "files"),
            "BENCH_TICKS": str(self.folder / "ticks"),
            "C_FORCE_ROOT": "1",
            "PYTHONWARNINGS": "ignore",
        }
        os.environ.update(self.environment)
        if get_settings.cache_info().currsize:
            engines.dispose()
            get_settings.cache_clear()
        app.conf.update(broker_url=self.redis_url)
        migrate(engines.get_engine())
        self.reset()

    @contextmanager
    def worker(self, module: str, queue: str, *options: str, **environment: object) -> Iterator[Process]:
        """A Celery worker with two processes, ready for work."""
        command = ["-m", "celery", "-A", module, "worker", "-Q", queue, "-c", "2", "-l", "WARNING"]
        log = self.folder / f"worker-{new_id()}.log"
        process = Process([*command, "--without-gossip", "--without-mingle", *options], log, **environment)
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def stage() -> Iterator[Stage]:
    """A stage that is gone afterwards, and with it this process's connection to its broker and its environment."""
    before = dict(os.environ)
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    port = free_port()
    server = subprocess.Popen(valkey_command(port, folder / "valkey"))
    try:
        eventually(lambda: valkey_answers(port))
        yield Stage(folder, f"redis://127.0.0.1:{port}/0")
    finally:
        os.environ.clear()
        os.environ.update(before)
        server.terminate()
        server.wait()
        publisher().close()
        _drop_postgresql()
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """A port nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def postgresql_answers() -> bool:
    """Whether there is a PostgreSQL to measure with."""
    try:
        psycopg.connect(POSTGRES_URL, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def median(values: Sequence[float]) -> float:
    """The middle value, which a noisy machine moves least."""
    return statistics.median(values)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


_DATABASE = f"bench_{os.getpid()}"


def _fresh_sqlite(folder: Path) -> str:
    for leftover in folder.glob("bench.db*"):
        leftover.unlink()
    return f"sqlite:///{folder / 'bench.db'}"


def _fresh_postgresql() -> str:
    _drop_postgresql()
    with psycopg.connect(POSTGRES_URL, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {_DATABASE}")
    return make_url(POSTGRES_URL).set(database=_DATABASE).render_as_string(hide_password=False)


def _drop_postgresql() -> None:
    if postgresql_answers():
        with psycopg.connect(POSTGRES_URL, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {_DATABASE} WITH (FORCE)")
