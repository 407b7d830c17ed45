"""Newsletters, and who has left their lists."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from db.types import ID, Instant

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "newsletters",
        sa.Column("id", ID, nullable=False),
        sa.Column("list_name", sa.String(length=60), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.Column("html", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("batch_id", ID, nullable=True),
        sa.Column("created_by", sa.String(length=80), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(
            ["batch_id"], ["batches.id"], name=op.f("fk_newsletters_batch_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_newsletters")),
    )
    op.create_index(op.f("ix_newsletters_batch_id"), "newsletters", ["batch_id"], unique=False)
    op.create_table(
        "unsubscribes",
        sa.Column("list_name", sa.String(length=60), nullable=False),
        sa.Column("address_sha256", sa.String(length=64), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("list_name", "address_sha256", name=op.f("pk_unsubscribes")),
    )


def downgrade() -> None:
    """Undo."""
    op.drop_table("unsubscribes")
    op.drop_index(op.f("ix_newsletters_batch_id"), table_name="newsletters")
    op.drop_table("newsletters")
