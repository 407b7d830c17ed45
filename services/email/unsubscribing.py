"""Leaving a newsletter's list by one click (RFC 8058): the signed link, and who has left.

A link names its list and the hash of its address, so it works when nothing else is known of the person any more,
for as long as SECRET_KEY stays the same.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Self, cast

from itsdangerous import BadData, URLSafeSerializer
from sqlalchemy import Table, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from config.settings import get_settings
from db.engine import transaction
from db.models import Unsubscribe
from services.email.addresses import address_key

# Both databases bind at most 32,766 values or more.
_CHUNK = 5_000
_unsubscribes = cast(Table, Unsubscribe.__table__)


class LinkForged(ValueError):
    """The link was not made by us, or with another SECRET_KEY."""


@dataclass(frozen=True)
class Subscription:
    """One address on one list."""

    list_name: str
    address_sha256: str

    @classmethod
    def of(cls, email: str, list_name: str) -> Self:
        """Of an address as `normalise_address` gives it, in any spelling."""
        return cls(list_name, hashlib.sha256(address_key(email).encode()).hexdigest())

    @classmethod
    def read(cls, token: str) -> Self:
        """The subscription that `token` names. Raises LinkForged."""
        try:
            list_name, address_sha256 = _signer().loads(token)
        except BadData:
            raise LinkForged from None
        return cls(list_name, address_sha256)

    @property
    def link(self) -> str:
        """Where one click ends it. Mail services want PUBLIC_URL to be https for that."""
        token = _signer().dumps([self.list_name, self.address_sha256])
        return f"{get_settings().public_url.rstrip('/')}/unsubscribe/{token}"


def end(subscription: Subscription) -> None:
    """Send nothing of this list to this address any more; once or many times is the same."""
    with transaction() as connection:
        dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
        connection.execute(
            dialect.insert(_unsubscribes)
            .values(list_name=subscription.list_name, address_sha256=subscription.address_sha256)
            .on_conflict_do_nothing()
        )


def ended(session: Session, subscriptions: Sequence[Subscription]) -> set[Subscription]:
    """Those among the subscriptions to one list that have ended."""
    found: set[Subscription] = set()
    for chunk in _chunks(subscriptions):
        query = select(_unsubscribes.c.list_name, _unsubscribes.c.address_sha256).where(
            _unsubscribes.c.list_name == chunk[0].list_name,
            _unsubscribes.c.address_sha256.in_([each.address_sha256 for each in chunk]),
        )
        found |= {Subscription(*row) for row in session.execute(query)}
    return found


def _chunks(all_: Iterable[Subscription]) -> Iterator[list[Subscription]]:
    left = iter(all_)
    while chunk := list(islice(left, _CHUNK)):
        yield chunk


def _signer() -> URLSafeSerializer:
    return URLSafeSerializer(get_settings().secret_key.get_secret_value(), salt="unsubscribe")
