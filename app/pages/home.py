"""The home page: the three forms, each of which may be the one that came back with faults."""

from flask import redirect, render_template, url_for
from werkzeug.wrappers import Response

from app.pages.blueprint import pages
from app.pages.forms import FORMS, PageForm
from config.settings import get_settings


@pages.get("/")
def home() -> str:
    """The page with empty forms."""
    return render_home()


@pages.get("/contact")
@pages.get("/images")
@pages.get("/documents")
def back_to_the_forms() -> Response:
    """A form that came back with faults has its own address; reloading that one shows the forms."""
    return redirect(url_for("pages.home"))


@pages.get("/newsletters")
def newsletters() -> Response:
    """They are for operators."""
    return redirect(url_for("console.newsletters"))


def render_home(returned: PageForm | None = None) -> str:
    """The page; `returned` is the form that was refused, with what was typed."""
    forms = {slot: form(formdata=None) for slot, form in FORMS.items()}
    if returned is not None:
        forms[returned.slot] = returned
    settings = get_settings()
    return render_template(
        "home.html",
        **forms,
        summary=returned.faults() if returned else [],
        files_lost=returned is not None and returned.at_most > 0,
        max_upload_bytes=settings.max_upload_bytes,
        model=settings.anthropic_model if settings.anthropic_api_key else None,
    )
