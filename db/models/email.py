"""Mails to be sent. The queue carries the id; addresses and texts stay here."""

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, CreatedAt, Id, Json, Submitter


class EmailDelivery(Base):
    """One message to one recipient."""

    __tablename__ = "email_deliveries"

    id: Mapped[Id]
    template: Mapped[str] = mapped_column(String(60))
    to_email: Mapped[str] = mapped_column(String(320))
    to_name: Mapped[str] = mapped_column(String(300), default="")
    reply_to_email: Mapped[str | None] = mapped_column(String(320))
    reply_to_name: Mapped[str] = mapped_column(String(300), default="")
    context: Mapped[Json]
    created_by: Mapped[Submitter]
    created_at: Mapped[CreatedAt]
