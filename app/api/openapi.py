"""`GET /api/v1/openapi.json`: the API described for programs (OpenAPI 3.1)."""

from functools import cache
from typing import Any

from app.api.blueprint import api
from app.api.describing import FILE, content, form_body, json_body, operation, query, success
from app.api.schemas import Schema, components, ref
from app.intake.documents import MOST_AT_ONCE
from app.reading.jobs import API
from config.queues import Queue
from services.documents.analyses import SCHEMAS
from services.images.options import MAX_WIDTH, MAX_WIDTHS, ResizeOptions


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
                "post": operation("cancelJob", "Cancel a job", success(200, "Job"), (404,), path=True)
            },
            **_things("batch", "batches", "BatchWithJobs"),
            "/batches/{id}/cancel": {
                "post": operation(
                    "cancelBatch",
                    "Cancel what is unfinished of a batch",
                    success(200, "BatchWithJobs"),
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
                    "responses": {"200": content("The document", "application/json", {"type": "object"})},
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
    body = json_body(ref("Email"))
    return operation("sendEmail", "Send one mail", success(202, "AcceptedJob"), (), body=body, key=True)


def _resize_image() -> Schema:
    options = ResizeOptions.model_json_schema()["properties"]
    widths = {
        "type": "string",
        "description": f"1 to {MAX_WIDTHS} widths in pixels, each 1 to {MAX_WIDTH}, separated by commas",
        "pattern": r"^ *[0-9]{1,4} *(, *[0-9]{1,4} *)*$",
        "default": "320,768,1280",
    }
    body = form_body({**options, "widths": widths, "file": FILE}, required=["file"])
    return operation("resizeImage", "Resize a picture", success(202, "AcceptedJob"), (), body=body, key=True)


def _analyse_documents() -> Schema:
    fields = {
        "analysis": {"type": "string", "enum": list(SCHEMAS)},
        "files": {"type": "array", "items": FILE, "minItems": 1, "maxItems": MOST_AT_ONCE},
    }
    body = form_body(fields, required=["analysis", "files"])
    return operation(
        "analyseDocuments", "Analyse documents", success(202, "AcceptedBatch"), (), body=body, key=True
    )


def _send_newsletter() -> Schema:
    """In JSON, or as a form with the recipients in a file."""
    fields = components()["Newsletter"]["properties"]
    csv = FILE | {"description": "CSV in UTF-8 or Windows-1252 with the columns email and name"}
    words = {name: schema for name, schema in fields.items() if name != "list"}
    body = form_body({**words, "recipients": csv}, required=["subject", "html", "text", "recipients"])
    body["content"] |= json_body(ref("Newsletter"))["content"]
    accepted = success(202, "AcceptedNewsletter")
    summary = "Send a newsletter: one job for each recipient, in one batch (scope newsletters or operate)"
    return operation("sendNewsletter", summary, accepted, (), body=body, key=True)


def _things(one: str, many: str, schema: str) -> Schema:
    """What can be looked at and followed."""
    name = one.capitalize()
    events = content("Events until nothing changes any more", "text/event-stream", {"type": "string"})
    follow = operation(f"follow{name}", f"Follow a {one}", {"200": events}, (404,), path=True)
    follow["parameters"].append(
        {
            "name": "Last-Event-ID",
            "in": "header",
            "description": "The id of the last event received; only what has changed since is sent.",
            "schema": {"type": "string"},
        }
    )
    show = operation(f"show{name}", f"Look at a {one}", success(200, schema), (404,), path=True)
    return {f"/{many}/{{id}}": {"get": show}, f"/{many}/{{id}}/events": {"get": follow}}


def _dead_letters() -> Schema:
    index = operation("listDeadLetters", "List dead letters", success(200, "DeadLetters"), (403, 404, 422))
    index["parameters"] = [
        query("state", {"type": "string", "enum": ["open", "resolved", "all"], "default": "open"}),
        query("type", {"type": "string", "maxLength": 80}),
        query("limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}),
        query("before", {"type": "string", "format": "uuid", "maxLength": 36}),
    ]
    details = success(200, "DeadLetterDetails")
    show = operation("showDeadLetter", "Look at a dead letter", details, (403, 404), path=True)
    paths: Schema = {"/dead-letters": {"get": index}, "/dead-letters/{id}": {"get": show}}
    paths["/dead-letters/replay"] = {
        "post": operation(
            "replayDeadLetters",
            "Replay every open dead letter of one kind: the oldest first, the others once it has succeeded",
            {"202": content("Begun", "application/json", ref("ReplayBegun"))},
            (403, 404, 409),
            body=json_body(ref("ReplayGroupBody")),
        )
    }
    for move, answer in (("replay", "Replayed"), ("discard", "Discarded"), ("resolve", "Replayed")):
        name = move.capitalize()
        paths[f"/dead-letters/{{id}}/{move}"] = {
            "post": operation(
                f"{move}DeadLetter",
                f"{name} a dead letter",
                success(200, f"{answer}DeadLetter"),
                (403, 404, 409),
                body=json_body(ref(f"{name}Body"), required=move != "replay"),
                path=True,
            )
        }
    return paths


def _queues() -> Schema:
    index = operation("listQueues", "List the queues", success(200, "Queues"), (403,))
    paths: Schema = {"/queues": {"get": index}}
    for move, summary in (
        ("pause", "Let none of the queue's jobs start until it is resumed; what runs, runs on"),
        ("resume", "Let the queue's jobs go on, in their order"),
    ):
        described = operation(f"{move}Queue", summary, success(200, "PausedOrResumed"), (403, 404), path=True)
        described["parameters"][0]["schema"] = {"enum": [queue.value for queue in Queue]}
        paths[f"/queues/{{id}}/{move}"] = {"post": described}
    return paths
