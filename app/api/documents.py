"""`POST /api/v1/documents`: up to a hundred documents and one question."""

from flask import Response, request

from app.api.answers import accepted
from app.api.blueprint import api
from app.api.bodies import form_fields, idempotency_key
from app.intake.documents import MOST_AT_ONCE, analyse_documents
from app.intake.uploads import receive
from app.security import Scope, api_viewer


@api.post("/documents")
def analyse() -> Response:
    """Accept documents as one batch, the first document first."""
    viewer = api_viewer(Scope.SUBMIT)
    analysis = form_fields("analysis", files="files").get("analysis", "")
    uploads = receive(request.files.getlist("files"), field="files", at_most=MOST_AT_ONCE)
    submission = analyse_documents(uploads, analysis, created_by=viewer.identity, key=idempotency_key())
    return accepted(submission, viewer)
