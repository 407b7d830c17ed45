"""The web application: pages for people, an API for programs, a console and commands for operators."""

from datetime import timedelta

from flask import Flask, Response
from flask_wtf import CSRFProtect

import tasks  # noqa: F401  # declares every job type, so that the ledger's rows can be read
from app import cli, problems
from app.api import api
from app.console import FAILED_SIGN_INS, TRY_LATER, console, door, refused
from app.files import files
from app.limits import FORM_POSTS, MAX_FORM_PARTS, BoundedRequest, drain, limit_forms
from app.operations import operations
from app.pages import pages
from app.unsubscribing import unsubscribing
from config.logging import configure_logging
from config.settings import Settings, get_settings
from db.engine import hurry


class Application(Flask):
    """Flask with bounded requests."""

    request_class = BoundedRequest


def create_app() -> Application:
    """The application for this process's settings. Nothing connects until a request needs it."""
    settings = get_settings()
    configure_logging(settings)
    app = Application(__name__)
    app.config.from_mapping(flask_options(settings))
    app.json.sort_keys = False  # type: ignore[attr-defined]  # Flask types the provider's base class
    problems.register(app)
    # Somebody waits for the answer. Commands that run for long, as the relay does, are patient.
    app.before_request(hurry)
    app.after_request(secure)
    app.after_request(drain)

    # Before the check of the forms' tokens, so that guesses count too.
    limiter = limit_forms(app)
    limiter.limit(FORM_POSTS, methods=["POST"])(pages)
    limiter.limit(FAILED_SIGN_INS, methods=["POST"], deduct_when=refused, error_message=TRY_LATER)(door)
    csrf = CSRFProtect(app)
    # A browser attaches no bearer token by itself, so no other site can make it call these.
    csrf.exempt(api)
    # A mail service asks for its customer, without a page of ours before it; the signed link is the proof.
    csrf.exempt(unsubscribing)
    for blueprint in (pages, files, api, door, console, unsubscribing, operations):
        app.register_blueprint(blueprint)
    cli.register(app)
    return app


def flask_options(settings: Settings) -> dict[str, object]:
    """Flask's configuration, each line saying why."""
    return {
        "SECRET_KEY": settings.secret_key.get_secret_value(),
        "MAX_FORM_PARTS": MAX_FORM_PARTS,
        "SESSION_COOKIE_NAME": "visitor",
        "SESSION_COOKIE_HTTPONLY": True,
        # A link from elsewhere finds one's jobs; a form from elsewhere does not find one's session.
        "SESSION_COOKIE_SAMESITE": "Lax",
        # Where people come by https. Compose on one's own machine is production without it.
        "SESSION_COOKIE_SECURE": settings.public_url.startswith("https://"),
        "PERMANENT_SESSION_LIFETIME": timedelta(days=31),
        # A page may lie open over a day; the session it belongs to bounds it as well.
        "WTF_CSRF_TIME_LIMIT": 24 * 3600,
        # The referrer check would refuse a proxy that ends TLS without saying so; token and SameSite stand.
        "WTF_CSRF_SSL_STRICT": False,
    }


def secure(response: Response) -> Response:
    """Headers that hold for every answer unless a view set its own."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


_HEADERS = {
    # Scripts, styles and connections of our own only; blob: is the preview of a picture that was just chosen.
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    # Answers are somebody's own; no cache on the way keeps them.
    "Cache-Control": "private, no-cache",
}
