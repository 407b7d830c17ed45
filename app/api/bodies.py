"""What a call brings, read and checked. Each refusal names its field."""

from typing import TypeVar

from flask import request
from pydantic import BaseModel, ConfigDict, ValidationError
from werkzeug.exceptions import RequestEntityTooLarge

from app.intake.refusals import Refused, refuse_fields, refuse_invalid
from app.limits import MAX_BODY_BYTES

B = TypeVar("B", bound="Body")


class Body(BaseModel):
    """A JSON body. Types are taken as they are written: "1" is no number; unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


def json_body(model: type[B]) -> B:
    """The body as `model`; no body at all counts as `{}`.

    Raises Refused: 415 for another content type, 400 for broken JSON, 422 for what does not fit; and
    RequestEntityTooLarge.
    """
    data = request.get_data(cache=False)
    # Werkzeug cuts a chunked body off at the limit without a word.
    if len(data) >= (request.max_content_length or MAX_BODY_BYTES):
        raise RequestEntityTooLarge
    if data and request.mimetype != "application/json":
        raise _wrong_type("application/json")
    try:
        return model.model_validate_json(data or b"{}")
    except ValidationError as error:
        if error.errors(include_url=False)[0]["type"] == "json_invalid":
            raise Refused("json_invalid", "The body is not valid JSON.", status=400) from None
        raise refuse_invalid("body_invalid", error) from None


def form_fields(*known: str, files: str) -> dict[str, str]:
    """The text fields of a multipart form that has one file field, `files`.

    Raises Refused: 415 for another content type, 422 for a field that this call does not know.
    """
    if request.mimetype != "multipart/form-data":
        raise _wrong_type("multipart/form-data")
    strange = [*(request.form.keys() - set(known)), *(request.files.keys() - {files})]
    if strange:
        message = f"This call knows the fields {', '.join((files, *known))}."
        raise refuse_fields("unknown_field", {name[:80]: message for name in strange})
    return {name: request.form[name] for name in known if name in request.form}


def idempotency_key() -> str | None:
    """The Idempotency-Key header; its form is checked where it is used."""
    return request.headers.get("Idempotency-Key")


def _wrong_type(wanted: str) -> Refused:
    return Refused("unsupported_media_type", f"Send the body as {wanted}.", status=415)
