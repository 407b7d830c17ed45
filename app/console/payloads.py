"""A job's payload as a person edits it."""

import json
from typing import Any

from app.intake.refusals import Refused
from db.models import Job
from tasks.engine.job import JOBS
from tasks.engine.payload import PayloadInvalid, PayloadTooNew


def editable(job: Job) -> dict[str, Any]:
    """The payload in today's form, where this release can read it; else as it is stored."""
    declared = JOBS.get(job.type)
    if declared is None:
        return job.payload
    try:
        payload: dict[str, Any] = declared.payload.load(job.payload_version, job.payload).dump()
    except (PayloadInvalid, PayloadTooNew):
        return job.payload
    return payload


def read_payload(text: str) -> dict[str, Any]:
    """What was typed. Raises Refused when it is no JSON object."""
    try:
        payload = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"This is not valid JSON: look at line {error.lineno}, column {error.colno}."
        raise Refused("payload_invalid", message, field="payload") from None
    except (RecursionError, ValueError):
        message = "This is nested too deeply or holds a number with too many digits."
        raise Refused("payload_invalid", message, field="payload") from None
    if not isinstance(payload, dict):
        raise Refused("payload_invalid", "The payload must be an object in braces.", field="payload")
    return payload
