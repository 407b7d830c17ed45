"""Alembic's entry: it runs on the connection that `db.migrate` hands over, or on the configured database."""

from typing import Literal

from alembic import context
from sqlalchemy import Connection, Uuid

from db.engine import get_engine
from db.models import Base
from db.types import Instant


def render_item(kind: str, item: object, _context: object) -> str | Literal[False]:
    """Name our own column type the way the migrations import it."""
    if kind == "type" and isinstance(item, Instant):
        return "Instant()"
    return "ID" if kind == "type" and isinstance(item, Uuid) else False


def run(connection: Connection) -> None:
    """Run the migrations; SQLite cannot alter a table in place, so Alembic copies it there."""
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=connection.dialect.name == "sqlite",
        compare_server_default=True,
        render_item=render_item,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    with get_engine().begin() as own:
        run(own)
