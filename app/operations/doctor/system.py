"""What the checks look at, each part asked once and only when a check needs it."""

import os
import time
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path

from sqlalchemy import make_url, select
from sqlalchemy.exc import SQLAlchemyError

from app.operations.canaries import stalled
from app.operations.relay import behind
from config.settings import Settings, get_settings
from db.engine import reading, reading_engine
from db.migrate import is_current
from db.types import now
from tasks.engine import inspection
from tasks.engine.publisher import BrokerUnavailable


@dataclass(frozen=True)
class Database:
    """`behind` is how long the most overdue job has waited for a relay, `ahead` its clock against ours."""

    migrated: bool
    ahead: timedelta = timedelta()
    behind: timedelta = timedelta()


class System:
    """This installation, as this process sees it. A part that does not answer is None."""

    @cached_property
    def settings(self) -> Settings:
        """As configured."""
        return get_settings()

    @cached_property
    def database(self) -> Database | None:
        """Asked without writing."""
        try:
            if not is_current(reading_engine()):
                return Database(migrated=False)
            with reading() as session:
                asked = time.time()
                told = session.scalars(select(now())).one().timestamp()
                ahead = told - (asked + time.time()) / 2
            return Database(True, timedelta(seconds=ahead), behind())
        except SQLAlchemyError:
            return None

    @cached_property
    def stalled(self) -> dict[str, str] | None:
        """What stands still, by the canaries; None without a migrated database."""
        return stalled() if self.database is not None and self.database.migrated else None

    @cached_property
    def database_file(self) -> Path | None:
        """SQLite's file."""
        url = make_url(self.settings.database_url)
        return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None

    @cached_property
    def workers(self) -> list[inspection.Worker] | None:
        """Those that answer; None without a broker, and on SQS, which carries no questions to workers."""
        if self.settings.broker_url.startswith("sqs://"):
            return None
        try:
            return inspection.workers()
        except BrokerUnavailable:
            return None

    @cached_property
    def redis(self) -> inspection.RedisServer | None:
        """The one that carries messages, if a Redis does."""
        return _redis(self.settings.broker_url) if _is_redis(self.settings.broker_url) else None

    @cached_property
    def limits_redis(self) -> inspection.RedisServer | None:
        """The one that keeps limits; the broker unless REDIS_URL names another."""
        url = self.settings.limits_url
        if url is None:
            return None
        return self.redis if url == self.settings.broker_url else _redis(url)

    @cached_property
    def relays(self) -> int:
        """Relays on this machine."""
        return inspection.relays()

    @cached_property
    def overruled(self) -> list[str]:
        """Celery's options that its own environment variables overrule."""
        return inspection.overruled()

    def filesystem(self, folder: Path) -> str:
        """The type of the filesystem that holds `folder`, as /proc/mounts calls it; empty where there is none."""
        try:
            mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
        except OSError:
            return ""
        at = str(folder.resolve())
        holding = [(point, type_) for point, type_ in mounts if _holds(point, at)]
        return max(holding, key=lambda mount: len(mount[0]))[1] if holding else ""

    def writable(self, folder: Path) -> bool:
        """Whether this process may make files there."""
        return os.access(folder, os.W_OK | os.X_OK)


def _is_redis(url: str) -> bool:
    return url.startswith(("redis://", "rediss://"))


def _redis(url: str) -> inspection.RedisServer | None:
    try:
        return inspection.redis_server(url)
    except inspection.RedisUnavailable:
        return None


def _holds(point: str, path: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")
