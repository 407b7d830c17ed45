"""Rows by id, for those who may see them. Whatever else is asked for does not exist."""

import re
from typing import TypeVar

from sqlalchemy.orm import Session

from app.security import Viewer
from db.models import Batch, Job, StoredFile

Row = TypeVar("Row", Job, Batch, StoredFile)

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class NotFound(Exception):
    """No such thing, or none that this viewer may see; the two look the same from outside."""


def is_id(text: str) -> bool:
    """Whether the text is written as our ids are. PostgreSQL would refuse to compare anything else."""
    return _ID.fullmatch(text) is not None


def visible(session: Session, model: type[Row], id_: str, viewer: Viewer) -> Row:
    """The row with this id. Raises NotFound for an unknown, a malformed, or somebody else's id."""
    row = session.get(model, id_) if is_id(id_) else None
    if row is None or not viewer.may_see(row.created_by):
        raise NotFound
    return row
