"""A crash that many jobs share counts against none of them."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    """Apply."""
    op.add_column("jobs", sa.Column("suspect", sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    """Undo."""
    op.drop_column("jobs", "suspect")
