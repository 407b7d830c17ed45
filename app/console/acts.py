"""What operators do in the console. Only POST gets here, and each act ends in the audit log."""

from collections.abc import Callable, Mapping

from flask import flash, redirect, request, url_for
from flask.typing import ResponseReturnValue

from app.console.blueprint import console, operator
from app.console.letters import group_page, letter_page
from app.console.payloads import read_payload
from app.intake.refusals import Refused
from app.operators import (
    cancel_job,
    discard_group,
    discard_letter,
    pause_queue,
    replay_group,
    replay_letter,
    resolve_letter,
    resume_queue,
)
from app.reading.visible import NotFound
from db.ledger import AlreadyResolved, LetterNotFound, WrongResolution
from db.models.jobs import State
from tasks.dead_letters import MOST_PER_MINUTE

_LONGEST_REASON = 1_000
_MOST_DIGITS = len(str(MOST_PER_MINUTE))


@console.post("/queues/<name>/pause")
def pause(name: str) -> ResponseReturnValue:
    """Let none of the queue's jobs start."""
    changed = pause_queue(name, actor=operator().identity)
    flash(f"{name} is paused. Jobs that run, run on." if changed else f"{name} was paused before.")
    return redirect(url_for("console.overview"), 303)


@console.post("/queues/<name>/resume")
def resume(name: str) -> ResponseReturnValue:
    """Let its jobs go on."""
    changed = resume_queue(name, actor=operator().identity)
    flash(f"{name} goes on." if changed else f"{name} was not paused.")
    return redirect(url_for("console.overview"), 303)


@console.post("/jobs/<job_id>/cancel")
def cancel(job_id: str) -> ResponseReturnValue:
    """At once if it waits, at its next checkpoint if it runs."""
    state = cancel_job(job_id, actor=operator().identity)
    said = {
        State.CANCELLED: "Cancelled.",
        State.RUNNING: "It runs, and will stop at its next checkpoint.",
    }
    flash(said.get(State(state), "It had ended before."))
    return redirect(url_for("console.job", job_id=job_id), 303)


@console.post("/dead-letters/<letter_id>/replay")
def replay(letter_id: str) -> ResponseReturnValue:
    """Queue the letter's job again, with the edited payload if the form has one."""

    def act() -> str:
        payload = read_payload(request.form["payload"]) if "payload" in request.form else None
        replay_letter(letter_id, actor=operator().identity, reason=_reason(), payload=payload)
        return "Queued again, with the new payload." if payload is not None else "Queued again."

    return _on_letter(letter_id, act)


@console.post("/dead-letters/<letter_id>/discard")
def discard(letter_id: str) -> ResponseReturnValue:
    """Close the letter; its job stays dead."""

    def act() -> str:
        discard_letter(letter_id, actor=operator().identity, reason=_discard_reason())
        return "Discarded."

    return _on_letter(letter_id, act)


@console.post("/dead-letters/<letter_id>/resolve")
def resolve(letter_id: str) -> ResponseReturnValue:
    """Settle an unknown outcome."""

    def act() -> str:
        answer = request.form.get("happened")
        if answer not in ("yes", "no"):
            raise Refused("answer_missing", "Say whether it happened.", field="happened")
        happened = answer == "yes"
        resolve_letter(letter_id, happened=happened, actor=operator().identity, reason=_reason())
        return "Settled: it happened." if happened else "Queued again."

    return _on_letter(letter_id, act)


@console.post("/dead-letters/replay")
def replay_kind() -> ResponseReturnValue:
    """Replay a whole kind behind a canary."""

    def act(fingerprint: str) -> str:
        ramp = replay_group(
            fingerprint, per_minute=_per_minute(), actor=operator().identity, reason=_reason()
        )
        rest = f" The other {ramp.letters - 1:,} follow once its job has succeeded." if ramp.job_id else ""
        return f"The oldest letter was queued again.{rest}"

    return _on_group(act)


@console.post("/dead-letters/discard")
def discard_kind() -> ResponseReturnValue:
    """Close the letters of a kind that were there when the page was shown."""

    def act(fingerprint: str) -> str:
        reason, up_to = _discard_reason(), request.form.get("up_to", "")
        count = discard_group(fingerprint, up_to=up_to, actor=operator().identity, reason=reason)
        return f"Discarded: {count:,}."

    return _on_group(act)


def _on_group(act: Callable[[str], str]) -> ResponseReturnValue:
    """Back to the letters of the kind, as `_on_letter` does for one."""
    fingerprint = request.form.get("fingerprint", "")
    if "\0" in fingerprint:
        raise NotFound
    try:
        flash(act(fingerprint))
    except Refused as refused:
        return group_page(fingerprint, faults=refused.fields, typed=request.form), 422
    except (AlreadyResolved, LetterNotFound, WrongResolution) as conflict:
        return group_page(fingerprint, faults=_conflict(conflict), typed=request.form), 409
    return redirect(url_for("console.letter_list", fingerprint=fingerprint), 303)


def _on_letter(letter_id: str, act: Callable[[], str]) -> ResponseReturnValue:
    """Back to the letter with what was done, or with what is wrong beside its field."""
    try:
        flash(act())
    except Refused as refused:
        return letter_page(letter_id, faults=_beside(refused.fields), typed=request.form), 422
    except (AlreadyResolved, WrongResolution) as conflict:
        return letter_page(letter_id, faults=_conflict(conflict), typed=request.form), 409
    return redirect(url_for("console.letter", letter_id=letter_id), 303)


def _reason(field: str = "reason") -> str:
    reason = request.form.get(field, "").strip()
    if len(reason) > _LONGEST_REASON:
        message = f"At most {_LONGEST_REASON:,} characters, please."
        raise Refused("reason_too_long", message, field=field)
    if "\0" in reason:
        raise Refused("reason_invalid", "A reason must not contain NUL characters.", field=field)
    return reason


def _discard_reason() -> str:
    reason = _reason(field="discard_reason")
    if not reason:
        message = "Say why it will never be done; the audit log keeps it."
        raise Refused("reason_missing", message, field="discard_reason")
    return reason


def _per_minute() -> int:
    given = request.form.get("per_minute", "").strip()
    if not (
        given.isascii()
        and given.isdigit()
        and len(given) <= _MOST_DIGITS
        and 1 <= int(given) <= MOST_PER_MINUTE
    ):
        raise Refused("per_minute_invalid", f"A number from 1 to {MOST_PER_MINUTE}.", field="per_minute")
    return int(given)


def _conflict(error: Exception) -> dict[str, str]:
    text = "None of these letters is open any more" if isinstance(error, LetterNotFound) else str(error)
    return {"": f"{text[:1].upper()}{text[1:].rstrip('.')}."}


def _beside(fields: Mapping[str, str]) -> dict[str, str]:
    """The faults inside the payload, which is one field here, each by its name."""
    inside = {name: text for name, text in fields.items() if name.startswith("payload.")}
    if not inside:
        return dict(fields)
    # "Widths is missing." alone does not say in which object.
    lines = [
        f"{name.removeprefix('payload.')}: {text}" if name.count(".") > 1 else text
        for name, text in inside.items()
    ]
    return {"payload": "\n".join(lines)}
