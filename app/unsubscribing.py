"""`/unsubscribe/{token}`: leave a newsletter's list, by the link in a mail or by a mail service's one click (RFC 8058).

Looking changes nothing, because programs that check mail open every link in it. The POST needs neither a session
nor a form of ours, and is not counted by address: a mail service sends those of all its customers from a few.
"""

from flask import Blueprint, render_template

from app.reading.visible import NotFound
from services.email.unsubscribing import LinkForged, Subscription, end

unsubscribing = Blueprint("unsubscribing", __name__)


@unsubscribing.get("/unsubscribe/<token>")
def ask(token: str) -> str:
    """A page with a button."""
    return render_template("unsubscribe.html", list_name=_read(token).list_name, done=False)


@unsubscribing.post("/unsubscribe/<token>")
def leave(token: str) -> str:
    """Whatever the body says: nobody can post here without the link. Not a redirect, which RFC 8058 forbids."""
    subscription = _read(token)
    end(subscription)
    return render_template("unsubscribe.html", list_name=subscription.list_name, done=True)


def _read(token: str) -> Subscription:
    try:
        return Subscription.read(token)
    except LinkForged:
        raise NotFound from None
