"""Who may call, and what operators did."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, CreatedAt, Id, Json


class ApiToken(Base):
    """A bearer token; only its SHA-256 is kept (it has 256 random bits, so no salt or stretching is needed)."""

    __tablename__ = "api_tokens"

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(String(80), unique=True)
    sha256: Mapped[str] = mapped_column(String(64), unique=True)
    # Space-separated, as in OAuth 2 (RFC 6749 §3.3): `submit`, `newsletters`, `operate`.
    scopes: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[CreatedAt]
    revoked_at: Mapped[datetime | None]


class AuditEntry(Base):
    """What an operator did. Append-only: a trigger refuses UPDATE and DELETE."""

    __tablename__ = "audit_log"

    id: Mapped[Id]
    at: Mapped[CreatedAt]
    actor: Mapped[str] = mapped_column(String(80))
    action: Mapped[str] = mapped_column(String(40))
    target: Mapped[str] = mapped_column(String(80), index=True)
    details: Mapped[Json]
