"""Newsletters, and who has left their lists."""

from sqlalchemy import ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, CreatedAt, Id, Ref, Submitter


class Newsletter(Base):
    """One issue: its words are here once, however many deliveries carry them. They are never changed."""

    __tablename__ = "newsletters"

    id: Mapped[Id]
    # People leave this list, not all lists.
    list_name: Mapped[str] = mapped_column(String(60))
    subject: Mapped[str] = mapped_column(String(200))
    html: Mapped[str] = mapped_column(Text)
    text: Mapped[str] = mapped_column(Text)
    batch_id: Mapped[Ref | None] = mapped_column(ForeignKey("batches.id", ondelete="SET NULL"), index=True)
    created_by: Mapped[Submitter]
    created_at: Mapped[CreatedAt]


class Unsubscribe(Base):
    """An address that has left a list. Kept for good, so as a hash: it must outlive everything else about a person."""

    __tablename__ = "unsubscribes"

    list_name: Mapped[str] = mapped_column(String(60), primary_key=True)
    address_sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    at: Mapped[CreatedAt]
