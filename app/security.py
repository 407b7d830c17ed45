"""Who is asking: a visitor by the signed session cookie, a program by its bearer token."""

import hashlib
import secrets
from dataclasses import dataclass
from enum import StrEnum

from flask import request, session
from sqlalchemy import select

from db.engine import reading
from db.models import ApiToken

_TOKEN_BYTES = 32
_VISITOR = "visitor"


class Scope(StrEnum):
    """What a token may do."""

    SUBMIT = "submit"
    # Mail in our name with words and markup of the sender's own, to as many as they like.
    NEWSLETTERS = "newsletters"
    OPERATE = "operate"


@dataclass(frozen=True)
class Viewer:
    """`identity` is `token:<id>` or `session:<id>`, the same text that rows keep as their submitter."""

    identity: str
    scopes: frozenset[str] = frozenset()

    @property
    def operates(self) -> bool:
        """Whether everybody's jobs are this viewer's business."""
        return Scope.OPERATE in self.scopes

    def may(self, scope: Scope) -> bool:
        """Whether the scopes reach so far. Operators send newsletters from the console, so theirs includes that."""
        return scope in self.scopes or (scope is Scope.NEWSLETTERS and self.operates)

    def may_see(self, created_by: str) -> bool:
        """One's own, or everything for an operator."""
        return self.operates or created_by == self.identity


class NotAuthenticated(Exception):
    """There is no token, or no token of ours."""


class NotPermitted(Exception):
    """The token is good and its scopes do not reach this far."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.scope = scope


def page_viewer() -> Viewer:
    """This browser's visitor, who gets a random identity on the first visit."""
    if _VISITOR not in session:
        session[_VISITOR] = secrets.token_hex(16)
        session.permanent = True
    return Viewer(f"session:{session[_VISITOR]}")


def renew_session() -> None:
    """Begin a new session, of which only the visitor goes on: whoever signs in or out keeps their own jobs.

    A cookie that somebody planted gains nothing by that. It names a visitor, as it did before, and holds neither the
    sign-in nor the forms' tokens that follow.
    """
    visitor = session.get(_VISITOR)
    session.clear()
    if visitor is not None:
        session[_VISITOR] = visitor
        session.permanent = True


def api_viewer(scope: Scope | None = None) -> Viewer:
    """The caller of the API. `scope` None lets every token in.

    Raises NotAuthenticated without a valid bearer token, NotPermitted when it lacks the scope.
    """
    found = _bearer()
    if found is None:
        raise NotAuthenticated
    viewer = Viewer(f"token:{found.id}", frozenset(found.scopes.split()))
    if scope is not None and not viewer.may(scope):
        raise NotPermitted(scope)
    return viewer


def any_viewer() -> Viewer:
    """Whoever shows a token, else this browser's visitor: files are for both."""
    return api_viewer() if "Authorization" in request.headers else page_viewer()


def make_token() -> tuple[str, str]:
    """A new token and the hash to keep of it."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    return token, hash_token(token)


def hash_token(token: str) -> str:
    """SHA-256 as lower-case hex."""
    return hashlib.sha256(token.encode()).hexdigest()


def _bearer() -> ApiToken | None:
    given = request.authorization
    if given is None or given.type != "bearer" or not given.token:
        return None
    wanted = hash_token(given.token)
    with reading() as session_:
        return session_.scalar(
            select(ApiToken).where(ApiToken.sha256 == wanted, ApiToken.revoked_at.is_(None))
        )
