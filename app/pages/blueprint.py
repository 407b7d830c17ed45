"""The blueprint that every page registers with, and the words its templates may use."""

from typing import Any

from flask import Blueprint

from app.pages import explanations, figures, findings, words
from config.settings import get_settings

pages = Blueprint("pages", __name__)

for template_filter in (
    figures.exact,
    figures.file_size,
    figures.relative,
    figures.saved,
    findings.found_amounts,
    findings.found_dates,
    findings.named,
    findings.score,
    words.state_word,
    words.job_title,
    words.outcome,
    explanations.meaning,
):
    pages.add_app_template_filter(template_filter)


@pages.app_context_processor
def _frame() -> dict[str, Any]:
    """What every page's frame shows."""
    return {"outbox_url": get_settings().outbox_url}
