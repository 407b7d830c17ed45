"""An effect knows the start that began it."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Apply."""
    op.add_column("idempotency_keys", sa.Column("lease_token", sa.String(length=32), nullable=True))


def downgrade() -> None:
    """Undo."""
    op.drop_column("idempotency_keys", "lease_token")
