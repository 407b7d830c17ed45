"""Signing in to the console and out of it."""

import hashlib
import hmac
import re
import time
from datetime import timedelta

from flask import Blueprint, Response, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from app.security import renew_session
from config.settings import get_settings

door = Blueprint("door", __name__, url_prefix="/console")

# Counted for one address; those that succeed are not counted.
FAILED_SIGN_INS = "5/minute;30/hour"
TRY_LATER = "Too many sign-ins from this address have failed. Wait a few minutes."
# After this one signs in again, however busy one was.
_LASTS = timedelta(hours=12)
_KEY = "console"
# An address of the console itself, so that nobody can be sent elsewhere by a link to the sign-in page.
_INSIDE = re.compile(r"/console(/[\w/-]*)?(\?[\w=&%.:-]*)?")


def signed_in() -> str | None:
    """The name of who is signed in to the console in this browser."""
    entry = session.get(_KEY)
    if not isinstance(entry, dict) or entry.get("until", 0) < time.time():
        return None
    # Another password ends every session that began with the old one.
    return get_settings().console_username if _same(str(entry.get("proof")), _proof()) else None


def refused(response: Response) -> bool:
    """Whether this answer told somebody that name and password do not match."""
    return response.status_code == 403


@door.get("/sign-in")
def sign_in_form() -> ResponseReturnValue:
    """The form, or the console for who is signed in already."""
    if signed_in():
        return redirect(url_for("console.overview"))
    return render_template("console/sign_in.html", target=_target(request.args), name="", wrong=False)


@door.post("/sign-in")
def sign_in() -> ResponseReturnValue:
    """Compare in constant time and begin a new session."""
    settings = get_settings()
    name, password = request.form.get("username", ""), request.form.get("password", "")
    right_name = _same(name, settings.console_username)
    right_password = _same(password, settings.console_password.get_secret_value())
    if not (right_name and right_password):
        page = render_template("console/sign_in.html", target=_target(request.form), name=name, wrong=True)
        return page, 403
    renew_session()
    session[_KEY] = {"until": int(time.time() + _LASTS.total_seconds()), "proof": _proof()}
    session.permanent = True
    return redirect(_target(request.form) or url_for("console.overview"), 303)


@door.post("/sign-out")
def sign_out() -> ResponseReturnValue:
    """Forget who was signed in, not whose jobs this browser has sent."""
    renew_session()
    return redirect(url_for("door.sign_in_form"), 303)


def _target(given: dict[str, str]) -> str:
    wanted = given.get("next", "")
    return wanted if _INSIDE.fullmatch(wanted) else ""


def _proof() -> str:
    settings = get_settings()
    credentials = f"{settings.console_username}\0{settings.console_password.get_secret_value()}"
    key = settings.secret_key.get_secret_value().encode()
    return hmac.new(key, credentials.encode(), hashlib.sha256).hexdigest()


def _same(given: str, wanted: str) -> bool:
    """Digests have one length, so the time taken tells nothing about how much of it was right."""
    return hmac.compare_digest(
        hashlib.sha256(given.encode()).digest(), hashlib.sha256(wanted.encode()).digest()
    )
