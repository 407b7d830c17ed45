"""`POST /api/v1/images`: one picture, made in several widths."""

from flask import Response, request

from app.api.answers import accepted
from app.api.blueprint import api
from app.api.bodies import form_fields, idempotency_key
from app.intake.images import resize_images, resize_options
from app.intake.uploads import receive
from app.security import Scope, api_viewer


@api.post("/images")
def resize_image() -> Response:
    """Accept a picture."""
    viewer = api_viewer(Scope.SUBMIT)
    fields = form_fields("widths", "format", "quality", files="file")
    options = resize_options(fields.get("widths"), fields.get("format"), fields.get("quality"))
    uploads = receive(request.files.getlist("file"), field="file", at_most=1)
    submission = resize_images(uploads, options, created_by=viewer.identity, key=idempotency_key())
    return accepted(submission, viewer)
