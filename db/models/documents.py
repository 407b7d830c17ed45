"""Answers about documents, stored the moment they arrive, because they cost money."""

from decimal import Decimal

from sqlalchemy import ForeignKey, Numeric, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, CreatedAt, Id, Json, Ref


class Analysis(Base):
    """One answer of an engine about one document. A job that runs again finds it here and does not ask twice."""

    __tablename__ = "analyses"

    id: Mapped[Id]
    job_id: Mapped[Ref] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), unique=True)
    file_id: Mapped[Ref] = mapped_column(ForeignKey("stored_files.id", ondelete="CASCADE"), index=True)
    analysis: Mapped[str] = mapped_column(String(20))
    # `local` or `anthropic`, and the model's own name.
    engine: Mapped[str] = mapped_column(String(20))
    model: Mapped[str] = mapped_column(String(80))
    answer: Mapped[Json]
    input_tokens: Mapped[int]
    output_tokens: Mapped[int]
    cost_usd: Mapped[Decimal] = mapped_column(Numeric(12, 6))
    # Whether the end of a long text was left out, and what else a reader should know.
    truncated: Mapped[bool]
    note: Mapped[str] = mapped_column(Text)
    created_at: Mapped[CreatedAt]
