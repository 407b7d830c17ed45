"""Uploaded and produced files. A download is looked up here by id, never by a path."""

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from db.models.base import Base, CreatedAt, Id, Ref, Submitter


class StoredFile(Base):
    """One file in storage. `job_id` is the job that produced it; NULL for an upload."""

    __tablename__ = "stored_files"

    id: Mapped[Id]
    storage_key: Mapped[str] = mapped_column(String(80), unique=True)
    # As the person named it; shown escaped, sent in filename*=, never used as a path.
    name: Mapped[str] = mapped_column(String(255))
    media_type: Mapped[str] = mapped_column(String(100))
    size: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    job_id: Mapped[Ref | None] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), index=True)
    created_by: Mapped[Submitter]
    created_at: Mapped[CreatedAt]
