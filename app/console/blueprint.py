"""The blueprint that the console's pages register with. Nobody gets past it without signing in."""

import json
import re
from typing import Any

from flask import Blueprint, Response, redirect, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape

from app.console.door import door, signed_in
from app.security import Scope, Viewer

console = Blueprint("console", __name__, url_prefix="/console")


@console.before_request
def _admit() -> ResponseReturnValue | None:
    if signed_in():
        return None
    target = request.full_path.rstrip("?") if request.method == "GET" else None
    return redirect(url_for("door.sign_in_form", next=target), 303)


@console.after_request
@door.after_request
def _keep_nothing(response: Response) -> Response:
    """After signing out, the browser's Back button shows nothing of it."""
    response.headers["Cache-Control"] = "no-store"
    return response


def operator() -> Viewer:
    """Who is signed in, as rows and the audit log name them; sees everything."""
    return Viewer(f"console:{signed_in()}"[:80], frozenset({Scope.OPERATE}))


@console.app_template_filter()
def pretty_json(value: Any) -> str:
    """Indented, with letters of every script as they are."""
    return json.dumps(value, indent=2, ensure_ascii=False)


@console.app_template_filter()
def visible_text(text: str) -> str:
    """Signs that a browser would swallow, written out as `\\x1b`."""
    return "".join(
        sign if sign.isprintable() or sign in "\n\t" else sign.encode("unicode_escape").decode()
        for sign in text
    )


@console.app_template_filter()
def breakable(name: str) -> Markup:
    """A name in code that a narrow column may break where a reader would."""
    return Markup(re.sub(r"([._])", r"\1<wbr>", str(escape(name))))  # noqa: S704  # escaped first


@console.app_template_filter()
def plain_reason(reason: str) -> str:
    """`retries_exhausted` as "Retries exhausted"."""
    return reason.replace("_", " ").capitalize()
