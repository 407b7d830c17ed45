"""The blueprint that every page registers with, and the words its templates may use."""

from flask import Blueprint

from app.pages import explanations, figures, words

pages = Blueprint("pages", __name__)

for template_filter in (
    figures.exact,
    figures.file_size,
    figures.relative,
    figures.saved,
    words.state_word,
    words.job_title,
    words.outcome,
    explanations.meaning,
):
    pages.add_app_template_filter(template_filter)
