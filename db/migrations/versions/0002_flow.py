"""Paused queues, what full queues refused, and batches that somebody waits for."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from db.types import Instant

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None

_AWAITED = sa.text("completed_at IS NULL AND on_complete IS NOT NULL")
_UNFINISHED_MEMBER = sa.text("finished_at IS NULL AND batch_id IS NOT NULL")


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "paused_queues",
        sa.Column("queue", sa.String(length=40), nullable=False),
        sa.Column("paused_at", Instant(), nullable=False),
        sa.Column("paused_by", sa.String(length=80), nullable=False),
        sa.PrimaryKeyConstraint("queue", name=op.f("pk_paused_queues")),
    )
    op.create_table(
        "refused_work",
        sa.Column("queue", sa.String(length=40), nullable=False),
        sa.Column("priority", sa.String(length=6), nullable=False),
        sa.Column("submissions", sa.BigInteger(), nullable=False),
        sa.Column("last_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("queue", "priority", name=op.f("pk_refused_work")),
    )
    op.add_column(
        "batches",
        sa.Column(
            "on_complete",
            sa.JSON(none_as_null=True).with_variant(
                postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), "postgresql"
            ),
            nullable=True,
        ),
    )
    op.add_column("batches", sa.Column("completed_at", Instant(), nullable=True))
    op.create_index("ix_batches_awaited", "batches", ["id"], sqlite_where=_AWAITED, postgresql_where=_AWAITED)
    op.create_index(
        "ix_jobs_batch_unfinished",
        "jobs",
        ["batch_id"],
        sqlite_where=_UNFINISHED_MEMBER,
        postgresql_where=_UNFINISHED_MEMBER,
    )


def downgrade() -> None:
    """Undo."""
    op.drop_index("ix_jobs_batch_unfinished", table_name="jobs")
    op.drop_index("ix_batches_awaited", table_name="batches")
    op.drop_column("batches", "completed_at")
    op.drop_column("batches", "on_complete")
    op.drop_table("refused_work")
    op.drop_table("paused_queues")
