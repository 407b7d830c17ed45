"""What is kept about queues, which themselves are declared in `config.queues`."""

from datetime import datetime

from sqlalchemy import BigInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, CreatedAt


class PausedQueue(Base):
    """A queue none of whose jobs may start. That the row is there is the pause."""

    __tablename__ = "paused_queues"

    queue: Mapped[str] = mapped_column(String(40), primary_key=True)
    paused_at: Mapped[CreatedAt]
    paused_by: Mapped[str] = mapped_column(String(80))


class RefusedWork(Base):
    """How many submissions a full queue has turned away, for the figures."""

    __tablename__ = "refused_work"

    queue: Mapped[str] = mapped_column(String(40), primary_key=True)
    priority: Mapped[str] = mapped_column(String(6), primary_key=True)
    submissions: Mapped[int] = mapped_column(BigInteger)
    last_at: Mapped[datetime]
