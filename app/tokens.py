"""Tokens for the API, issued and revoked. Only their hashes are stored."""

from collections.abc import Iterable
from typing import cast

from sqlalchemy import Connection, Table, insert, select, update

from app.security import Scope, hash_token, make_token
from db.engine import reading, transaction
from db.models import ApiToken
from db.types import now

_table = cast(Table, ApiToken.__table__)


class NameTaken(Exception):
    """Another token that is not revoked has this name."""


def issue_token(name: str, scopes: Iterable[Scope | str], *, replace: bool = False) -> str:
    """Store a new token and return it; it cannot be had again. `replace` revokes the one that has the name.

    Raises NameTaken.
    """
    token, sha256 = make_token()
    with transaction() as connection:
        if replace:
            _revoke(connection, name)
        if connection.execute(select(_table.c.id).where(_table.c.name == name)).one_or_none():
            raise NameTaken(name)
        connection.execute(insert(_table).values(name=name, sha256=sha256, scopes=" ".join(sorted(scopes))))
    return token


def revoke_token(name: str) -> bool:
    """Refuse it from now on, and free its name; False when there is none."""
    with transaction() as connection:
        return _revoke(connection, name)


def is_valid(token: str) -> bool:
    """Whether the API would take it."""
    known = select(_table.c.id).where(_table.c.sha256 == hash_token(token), _table.c.revoked_at.is_(None))
    with reading() as session:
        return session.execute(known).one_or_none() is not None


def _revoke(connection: Connection, name: str) -> bool:
    found = connection.execute(
        select(_table.c.id).where(_table.c.name == name, _table.c.revoked_at.is_(None))
    ).scalar_one_or_none()
    if found is None:
        return False
    connection.execute(
        update(_table)
        .where(_table.c.id == found)
        .values(name=f"{name} (revoked {found[-8:]})", revoked_at=now())
    )
    return True
