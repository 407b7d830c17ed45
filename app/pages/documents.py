"""The documents form."""

from contextlib import nullcontext

from flask import request
from flask.typing import ResponseReturnValue
from wtforms import MultipleFileField, RadioField

from app.intake.documents import MOST_AT_ONCE, analyse_documents
from app.intake.submissions import Submission
from app.intake.uploads import receive
from app.pages.blueprint import pages
from app.pages.forms import PageForm
from app.pages.samples import sample
from app.pages.submitting import sample_wanted, submit_form

_ANALYSES = {"summary": "Summary", "sentiment": "Sentiment", "extraction": "Extraction"}


class DocumentsForm(PageForm):
    """Documents and the question about them."""

    slot = "documents"
    at_most = MOST_AT_ONCE
    files = MultipleFileField("Documents", id="documents-files")
    analysis = RadioField("Analysis", choices=_ANALYSES, default="summary", id="documents-analysis")


@pages.post("/documents")
def analyse_files() -> ResponseReturnValue:
    """One job for each document, in one batch."""
    form = DocumentsForm()
    return submit_form(form, lambda visitor, key: _send(form, visitor, key))


def _send(form: DocumentsForm, visitor: str, key: str | None) -> Submission:
    with sample("sample.txt") if sample_wanted() else nullcontext(request.files.getlist("files")) as files:
        uploads = receive(files, field="files", at_most=form.at_most)
        return analyse_documents(uploads, form.analysis.data or "", created_by=visitor, key=key)
