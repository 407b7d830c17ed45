"""The parts of an OpenAPI document that its operations are made of."""

from collections.abc import Iterable

from app.api.schemas import Schema, ref

_PROBLEMS = {
    400: "The body or the Idempotency-Key cannot be read.",
    401: "There is no valid token.",
    403: "The token lacks the scope.",
    404: "No such thing, or not the caller's to see.",
    409: "It was dealt with before, or cannot be dealt with that way.",
    413: "A file, the files together, or the body is too large.",
    415: "The body has another content type.",
    422: "A field is missing or wrong, or the Idempotency-Key stands for another request.",
    503: "The queue is full (`queue_full`), or the database, storage or a live view is not available; see Retry-After.",
}
FILE: Schema = {"type": "string", "contentMediaType": "application/octet-stream"}
_KEY: Schema = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A repeat with the same key and content within a day is answered with the first one's job.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}


def operation(
    name: str,
    summary: str,
    answers: Schema,
    problems: Iterable[int],
    *,
    body: Schema | None = None,
    key: bool = False,
    path: bool = False,
) -> Schema:
    """One operation with its successes and every problem it may answer with.

    With `key` it takes an Idempotency-Key, with `path` its address holds an id.
    """
    at_path = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}
    expected = {401, 503, *problems}
    if key:
        expected |= {400, 403, 413, 415, 422}
    elif body:
        expected |= {400, 413, 415, 422}
    responses = answers | {
        str(status): content(_PROBLEMS[status], "application/problem+json", ref("Problem"))
        for status in sorted(expected)
    }
    described: Schema = {"operationId": name, "summary": summary, "responses": responses}
    described["parameters"] = [at_path] * path + [_KEY] * key
    return described | ({"requestBody": body} if body else {})


def query(name: str, schema: Schema) -> Schema:
    """A parameter behind the question mark."""
    return {"name": name, "in": "query", "schema": schema}


def content(description: str, media_type: str, schema: Schema) -> Schema:
    """A response with a body of this type."""
    return {"description": description, "content": {media_type: {"schema": schema}}}


def success(status: int, name: str) -> Schema:
    """What it answers when all is well: 202 for work that was accepted, 200 for a thing as it is now."""
    described = content("Accepted" if status == 202 else "As it is now", "application/json", ref(name))
    if status == 202:
        where = {"description": "Where to look", "schema": {"type": "string", "format": "uri-reference"}}
        replayed = {"description": "`true` when an earlier request made it", "schema": {"enum": ["true"]}}
        described["headers"] = {"Location": where, "Idempotency-Replayed": replayed}
    return {str(status): described}


def json_body(schema: Schema, *, required: bool = True) -> Schema:
    """A body in JSON."""
    return {"required": required, "content": {"application/json": {"schema": schema}}}


def form_body(properties: Schema, *, required: list[str]) -> Schema:
    """A form with files."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return {"required": True, "content": {"multipart/form-data": {"schema": schema}}}
