"""`GET /api/v1/openapi.json`: the API described for programs (OpenAPI 3.1)."""

from collections.abc import Iterable
from functools import cache
from typing import Any

from app.api.blueprint import api
from app.api.schemas import Schema, components, ref
from app.intake.documents import MOST_AT_ONCE
from app.reading.jobs import API
from config.queues import Queue
from services.documents.analyses import SCHEMAS
from services.images.options import MAX_WIDTH, MAX_WIDTHS, ResizeOptions

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


@api.get("/openapi.json")
def openapi_document() -> dict[str, Any]:
    """The document itself, for everybody."""
    return document()


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document of this release."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Background jobs",
            "version": "1",
            "description": "Hand over e-mails, newsletters, pictures and documents; watch the jobs; fetch the results.",
        },
        "servers": [{"url": API}],
        "security": [{"token": []}],
        "paths": {
            "/emails": {"post": _send_email()},
            "/images": {"post": _resize_image()},
            "/documents": {"post": _analyse_documents()},
            "/newsletters": {"post": _send_newsletter()},
            **_things("job", "jobs", "Job"),
            "/jobs/{id}/cancel": {
                "post": _operation("cancelJob", "Cancel a job", _answer(200, "Job"), (404,), path=True)
            },
            **_things("batch", "batches", "BatchWithJobs"),
            "/batches/{id}/cancel": {
                "post": _operation(
                    "cancelBatch",
                    "Cancel what is unfinished of a batch",
                    _answer(200, "BatchWithJobs"),
                    (404,),
                    path=True,
                )
            },
            **_dead_letters(),
            **_queues(),
            "/openapi.json": {
                "get": {
                    "operationId": "describeApi",
                    "summary": "This document",
                    "security": [],
                    "responses": {"200": _content("The document", "application/json", {"type": "object"})},
                }
            },
        },
        "components": {
            "schemas": components(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "`flask tokens create --name NAME` prints one. Scopes: submit, newsletters, operate.",
                }
            },
        },
    }


def _send_email() -> Schema:
    body = _json(ref("Email"))
    return _operation("sendEmail", "Send one mail", _answer(202, "AcceptedJob"), (), body=body, key=True)


def _resize_image() -> Schema:
    options = ResizeOptions.model_json_schema()["properties"]
    widths = {
        "type": "string",
        "description": f"1 to {MAX_WIDTHS} widths in pixels, each 1 to {MAX_WIDTH}, separated by commas",
        "pattern": r"^ *[0-9]{1,4} *(, *[0-9]{1,4} *)*$",
        "default": "320,768,1280",
    }
    body = _form({**options, "widths": widths, "file": _FILE}, required=["file"])
    return _operation("resizeImage", "Resize a picture", _answer(202, "AcceptedJob"), (), body=body, key=True)


def _analyse_documents() -> Schema:
    fields = {
        "analysis": {"type": "string", "enum": list(SCHEMAS)},
        "files": {"type": "array", "items": _FILE, "minItems": 1, "maxItems": MOST_AT_ONCE},
    }
    body = _form(fields, required=["analysis", "files"])
    return _operation(
        "analyseDocuments", "Analyse documents", _answer(202, "AcceptedBatch"), (), body=body, key=True
    )


def _send_newsletter() -> Schema:
    """In JSON, or as a form with the recipients in a file."""
    fields = components()["Newsletter"]["properties"]
    csv = _FILE | {"description": "CSV in UTF-8 or Windows-1252 with the columns email and name"}
    words = {name: schema for name, schema in fields.items() if name != "list"}
    body = _form({**words, "recipients": csv}, required=["subject", "html", "text", "recipients"])
    body["content"] |= _json(ref("Newsletter"))["content"]
    answer = _answer(202, "AcceptedNewsletter")
    summary = "Send a newsletter: one job for each recipient, in one batch (scope newsletters or operate)"
    return _operation("sendNewsletter", summary, answer, (), body=body, key=True)


def _things(one: str, many: str, schema: str) -> Schema:
    """What can be looked at and followed."""
    name = one.capitalize()
    events = _content("Events until nothing changes any more", "text/event-stream", {"type": "string"})
    follow = _operation(f"follow{name}", f"Follow a {one}", {"200": events}, (404,), path=True)
    follow["parameters"].append(
        {
            "name": "Last-Event-ID",
            "in": "header",
            "description": "The id of the last event received; only what has changed since is sent.",
            "schema": {"type": "string"},
        }
    )
    show = _operation(f"show{name}", f"Look at a {one}", _answer(200, schema), (404,), path=True)
    return {f"/{many}/{{id}}": {"get": show}, f"/{many}/{{id}}/events": {"get": follow}}


def _dead_letters() -> Schema:
    index = _operation("listDeadLetters", "List dead letters", _answer(200, "DeadLetters"), (403, 404, 422))
    index["parameters"] = [
        _query("state", {"type": "string", "enum": ["open", "resolved", "all"], "default": "open"}),
        _query("type", {"type": "string", "maxLength": 80}),
        _query("limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}),
        _query("before", {"type": "string", "format": "uuid", "maxLength": 36}),
    ]
    details = _answer(200, "DeadLetterDetails")
    show = _operation("showDeadLetter", "Look at a dead letter", details, (403, 404), path=True)
    paths: Schema = {"/dead-letters": {"get": index}, "/dead-letters/{id}": {"get": show}}
    paths["/dead-letters/replay"] = {
        "post": _operation(
            "replayDeadLetters",
            "Replay every open dead letter of one kind: the oldest first, the others once it has succeeded",
            {"202": _content("Begun", "application/json", ref("ReplayBegun"))},
            (403, 404, 409),
            body=_json(ref("ReplayGroupBody")),
        )
    }
    for move, answer in (("replay", "Replayed"), ("discard", "Discarded"), ("resolve", "Replayed")):
        name = move.capitalize()
        paths[f"/dead-letters/{{id}}/{move}"] = {
            "post": _operation(
                f"{move}DeadLetter",
                f"{name} a dead letter",
                _answer(200, f"{answer}DeadLetter"),
                (403, 404, 409),
                body=_json(ref(f"{name}Body"), required=move != "replay"),
                path=True,
            )
        }
    return paths


def _queues() -> Schema:
    index = _operation("listQueues", "List the queues", _answer(200, "Queues"), (403,))
    paths: Schema = {"/queues": {"get": index}}
    for move, summary in (
        ("pause", "Let none of the queue's jobs start until it is resumed; what runs, runs on"),
        ("resume", "Let the queue's jobs go on, in their order"),
    ):
        operation = _operation(
            f"{move}Queue", summary, _answer(200, "PausedOrResumed"), (403, 404), path=True
        )
        operation["parameters"][0]["schema"] = {"enum": [queue.value for queue in Queue]}
        paths[f"/queues/{{id}}/{move}"] = {"post": operation}
    return paths


_FILE: Schema = {"type": "string", "contentMediaType": "application/octet-stream"}
_KEY: Schema = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A repeat with the same key and content within a day is answered with the first one's job.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}


def _operation(
    name: str,
    summary: str,
    answers: Schema,
    problems: Iterable[int],
    *,
    body: Schema | None = None,
    key: bool = False,
    path: bool = False,
) -> Schema:
    at_path = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "format": "uuid"}}
    expected = {401, 503, *problems}
    if key:
        expected |= {400, 403, 413, 415, 422}
    elif body:
        expected |= {400, 413, 415, 422}
    responses = answers | {
        str(status): _content(_PROBLEMS[status], "application/problem+json", ref("Problem"))
        for status in sorted(expected)
    }
    operation: Schema = {"operationId": name, "summary": summary, "responses": responses}
    operation["parameters"] = [at_path] * path + [_KEY] * key
    return operation | ({"requestBody": body} if body else {})


def _query(name: str, schema: Schema) -> Schema:
    return {"name": name, "in": "query", "schema": schema}


def _content(description: str, media_type: str, schema: Schema) -> Schema:
    return {"description": description, "content": {media_type: {"schema": schema}}}


def _answer(status: int, name: str) -> Schema:
    answer = _content("Accepted" if status == 202 else "As it is now", "application/json", ref(name))
    if status == 202:
        where = {"description": "Where to look", "schema": {"type": "string", "format": "uri-reference"}}
        replayed = {"description": "`true` when an earlier request made it", "schema": {"enum": ["true"]}}
        answer["headers"] = {"Location": where, "Idempotency-Replayed": replayed}
    return {str(status): answer}


def _json(schema: Schema, *, required: bool = True) -> Schema:
    return {"required": required, "content": {"application/json": {"schema": schema}}}


def _form(properties: Schema, *, required: list[str]) -> Schema:
    schema = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return {"required": True, "content": {"multipart/form-data": {"schema": schema}}}
