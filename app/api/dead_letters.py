"""`/api/v1/dead-letters`, for tokens with the scope `operate`."""

from typing import Annotated, Any, Literal

from flask import request
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from app.api.blueprint import api
from app.api.bodies import Body, json_body
from app.intake.refusals import refuse_invalid, without_nul
from app.operators import discard_letter, replay_group, replay_letter, resolve_letter
from app.reading.jobs import find_job
from app.reading.letters import find_letter, letter_details, letter_json, list_letters
from app.security import Scope, Viewer, api_viewer
from tasks.dead_letters import MOST_PER_MINUTE

Note = Annotated[str, Field(max_length=1_000), AfterValidator(without_nul)]
Reason = Annotated[Note, Field(min_length=1)]


class LetterQuery(BaseModel):
    """Which letters to list; `before` is the last id of the page before."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    state: Literal["open", "resolved", "all"] = "open"
    type: Annotated[str, Field(max_length=80), AfterValidator(without_nul)] | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    before: Annotated[str, Field(max_length=36)] | None = None


class ReplayBody(Body):
    """Why, if there is something to say; `payload` takes the place of the job's, if it fits the type's schema."""

    reason: Note = ""
    payload: dict[str, Any] | None = None


class ReplayGroupBody(Body):
    """Which kind of letter, and how many of its jobs may start a minute."""

    fingerprint: Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
    per_minute: Annotated[int, Field(ge=1, le=MOST_PER_MINUTE)] = 60
    reason: Note = ""


class DiscardBody(Body):
    """Why it will never be done."""

    reason: Reason


class ResolveBody(Body):
    """Whether the effect happened: then the job has succeeded, else it is done again."""

    happened: bool
    reason: Note = ""


_RESOLVED = {"open": False, "resolved": True, "all": None}


@api.get("/dead-letters")
def index() -> dict[str, Any]:
    """Newest first."""
    api_viewer(Scope.OPERATE)
    try:
        query = LetterQuery.model_validate(request.args.to_dict())
    except ValidationError as error:
        raise refuse_invalid("query_invalid", error) from None
    letters = list_letters(
        resolved=_RESOLVED[query.state], type_=query.type, limit=query.limit, before=query.before
    )
    return {"dead_letters": [letter_json(letter) for letter in letters]}


@api.get("/dead-letters/<letter_id>")
def show(letter_id: str) -> dict[str, Any]:
    """One letter with traceback and attempts."""
    api_viewer(Scope.OPERATE)
    return letter_details(letter_id)


@api.post("/dead-letters/<letter_id>/replay")
def replay(letter_id: str) -> dict[str, Any]:
    """Queue its job again."""
    viewer = api_viewer(Scope.OPERATE)
    body = json_body(ReplayBody)
    job_id = replay_letter(letter_id, actor=viewer.identity, reason=body.reason, payload=body.payload)
    return _settled(letter_id, job_id, viewer)


@api.post("/dead-letters/replay")
def replay_kind() -> tuple[dict[str, Any], int]:
    """Replay a whole kind: one letter as a canary, the rest by a job that waits for it."""
    viewer = api_viewer(Scope.OPERATE)
    body = json_body(ReplayGroupBody)
    ramp = replay_group(
        body.fingerprint, per_minute=body.per_minute, actor=viewer.identity, reason=body.reason
    )
    return {
        "letters": ramp.letters,
        "canary": find_job(ramp.canary_job_id, viewer).as_json(),
        "ramp": find_job(ramp.job_id, viewer).as_json() if ramp.job_id else None,
    }, 202


@api.post("/dead-letters/<letter_id>/discard")
def discard(letter_id: str) -> dict[str, Any]:
    """Close it; its job stays dead."""
    viewer = api_viewer(Scope.OPERATE)
    discard_letter(letter_id, actor=viewer.identity, reason=json_body(DiscardBody).reason)
    return {"dead_letter": letter_json(find_letter(letter_id))}


@api.post("/dead-letters/<letter_id>/resolve")
def resolve(letter_id: str) -> dict[str, Any]:
    """Settle an unknown outcome."""
    viewer = api_viewer(Scope.OPERATE)
    body = json_body(ResolveBody)
    job_id = resolve_letter(letter_id, happened=body.happened, actor=viewer.identity, reason=body.reason)
    return _settled(letter_id, job_id, viewer)


def _settled(letter_id: str, job_id: str, viewer: Viewer) -> dict[str, Any]:
    return {
        "dead_letter": letter_json(find_letter(letter_id)),
        "job": find_job(job_id, viewer).as_json(),
    }
