"""The shapes in the OpenAPI document: of bodies from their models, of answers written out."""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app.api.dead_letters import DiscardBody, ReplayBody, ReplayGroupBody, ResolveBody
from app.api.emails import EmailBody
from app.api.newsletters import NewsletterBody
from db.models.jobs import FINAL, State
from services.email.templates import TEMPLATES

Schema = dict[str, Any]

_REF = "#/components/schemas/{model}"


def ref(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": _REF.format(model=name)}


def components() -> dict[str, Schema]:
    """Every named schema."""
    return _bodies() | _ANSWERS


def _bodies() -> dict[str, Schema]:
    """The models' own schemas, and one e-mail schema per template with that template's variables."""
    models: list[type[BaseModel]] = [EmailBody, NewsletterBody]
    models += [ReplayBody, ReplayGroupBody, DiscardBody, ResolveBody]
    models += [template.variables for template in TEMPLATES.values()]
    _, found = models_json_schema([(model, "validation") for model in models], ref_template=_REF)
    schemas: dict[str, Schema] = found["$defs"]
    whole = schemas.pop("EmailBody")
    schemas["Newsletter"] = schemas.pop("NewsletterBody")
    for name, template in TEMPLATES.items():
        properties = whole["properties"] | {
            "template": {"const": name},
            "context": ref(template.variables.__name__),
        }
        required = ["template", "to"]
        if any(field.is_required() for field in template.variables.model_fields.values()):
            required.append("context")
        schemas[f"Email_{name}"] = {
            "type": "object",
            "description": template.variables.__doc__ or "",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }
    schemas["Email"] = {
        "oneOf": [ref(f"Email_{name}") for name in TEMPLATES],
        "discriminator": {
            "propertyName": "template",
            "mapping": {name: ref(f"Email_{name}")["$ref"] for name in TEMPLATES},
        },
    }
    return schemas


def _object(properties: Schema, *, optional: tuple[str, ...] = ()) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
    }


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer"}
_ID: Schema = {"type": "string", "format": "uuid"}
_TIME: Schema = {"type": "string", "format": "date-time", "description": "ISO 8601 with its offset"}
_PLACE: Schema = {"type": "string", "format": "uri-reference"}
_PERCENT: Schema = {"type": "integer", "minimum": 0, "maximum": 100}
_ERROR = _object({"code": _TEXT, "message": _TEXT})
_STATE: Schema = {"type": "string", "enum": [state.value for state in State]}

_LETTER: Schema = {
    "id": _ID,
    "job_id": _or_null(_ID),
    "type": _TEXT,
    "queue": _TEXT,
    "owner": _TEXT,
    "reason": {"type": "string", "description": "permanent, retries_exhausted, bug, worker_lost, …"},
    "error": _ERROR,
    "fingerprint": {"type": "string", "description": "Equal for failures of one kind"},
    "created_at": _TIME,
    "resolution": _or_null({"enum": ["replayed", "discarded", "happened", "superseded"]}),
    "resolved_at": _or_null(_TIME),
    "resolved_by": _or_null(_TEXT),
    "note": _or_null(_TEXT),
    "links": _object(
        dict.fromkeys(("self", "job", "replay", "discard", "resolve"), _PLACE),
        optional=("job", "replay", "discard", "resolve"),
    ),
}

_BATCH: Schema = {
    "id": _ID,
    "kind": _TEXT,
    "created_at": _TIME,
    "completed_at": _or_null(_TIME | {"description": "When the last job became final"}),
    "total": _NUMBER,
    "counts": _object({state.value: _NUMBER for state in State}),
    "progress": _PERCENT,
    "done": {"type": "boolean"},
    "links": _object(dict.fromkeys(("self", "events", "cancel"), _PLACE), optional=("cancel",)),
}

_QUEUE = _object(
    {
        "queue": _TEXT,
        **{state.value: _NUMBER for state in State if state not in FINAL},
        "oldest_queued_s": _or_null(_NUMBER),
        "broker_messages": _or_null(_NUMBER | {"description": "null while the broker does not answer"}),
        "paused_at": _or_null(_TIME),
        "paused_by": _or_null(_TEXT),
    }
)

_ANSWERS: dict[str, Schema] = {
    "Job": _object(
        {
            "id": _ID,
            "type": _TEXT,
            "queue": _TEXT,
            "state": _STATE | {"description": "A retry is `waiting` with `due_at`"},
            "priority": {"type": "string", "enum": ["high", "normal", "low"]},
            "progress": _or_null(_PERCENT),
            "attempts": {"type": "integer", "description": "Attempts that began"},
            "created_at": _TIME,
            "started_at": _or_null(_TIME),
            "finished_at": _or_null(_TIME),
            "due_at": _or_null(_TIME),
            "result": _or_null(
                {"type": "object", "description": "Its shape depends on the type; files are `url`s"}
            ),
            "error": _or_null(_ERROR),
            "links": _object(
                {
                    **dict.fromkeys(("self", "events", "cancel", "batch"), _PLACE),
                    "files": _list(_PLACE),
                },
                optional=("cancel", "batch", "files"),
            ),
        }
    ),
    "Batch": _object(_BATCH),
    "BatchWithJobs": _object({**_BATCH, "jobs": _list(ref("Job"))}),
    "AcceptedJob": _object({"job": ref("Job")}),
    "AcceptedBatch": _object({"batch": ref("Batch"), "jobs": _list(ref("Job"))}),
    "AcceptedNewsletter": _object(
        {
            "batch": ref("Batch"),
            "recipients": _object(
                {
                    "accepted": {"type": "integer", "description": "As many jobs as the batch has"},
                    "duplicates": {"type": "integer", "description": "Other spellings of an address before"},
                    "invalid": _list(_object({"line": _NUMBER, "reason": _TEXT})),
                    "unsubscribed": {"type": "integer", "description": "Those who have left the list"},
                }
            ),
        }
    ),
    "DeadLetter": _object(_LETTER),
    "DeadLetters": _object({"dead_letters": _list(ref("DeadLetter"))}),
    "DeadLetterDetails": _object(
        {
            **_LETTER,
            "traceback": _or_null(_TEXT),
            "payload": _or_null({"type": "object"}),
            "attempts": _list(
                _object(
                    {
                        "number": _NUMBER,
                        "outcome": _TEXT,
                        "error": _ERROR,
                        "worker": _or_null(_TEXT),
                        "started_at": _or_null(_TIME),
                        "ended_at": _TIME,
                    }
                )
            ),
        }
    ),
    "ReplayedDeadLetter": _object({"dead_letter": ref("DeadLetter"), "job": ref("Job")}),
    "ReplayBegun": _object({"letters": _NUMBER, "canary": ref("Job"), "ramp": _or_null(ref("Job"))}),
    "DiscardedDeadLetter": _object({"dead_letter": ref("DeadLetter")}),
    "Queues": _object({"queues": _list(_QUEUE)}),
    "PausedOrResumed": _object({"queue": _QUEUE}),
    "Problem": _object(
        {
            "type": _PLACE,
            "title": _TEXT,
            "status": _NUMBER,
            "detail": _TEXT,
            "instance": _PLACE,
            "code": {"type": "string", "description": "Stable; for programs"},
            "errors": _list(_object({"field": _TEXT, "pointer": _TEXT, "detail": _TEXT})),
        },
        optional=("errors",),
    ),
}
