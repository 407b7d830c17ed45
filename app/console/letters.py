"""`/console/dead-letters`: the kinds, the letters of one kind, and one letter."""

from collections.abc import Mapping

from flask import render_template, request

from app.console.blueprint import console, operator
from app.console.letter_groups import MOST_KINDS, find_group, letters_of, list_groups
from app.console.payloads import editable
from app.reading.jobs import find_job
from app.reading.letters import find_letter, letter_attempts
from db.engine import reading
from db.models import Job
from tasks.dead_letters import MOST_PER_MINUTE, ramp_under_way

_PER_MINUTE = 60


@console.get("/dead-letters")
def letter_list() -> str:
    """The kinds of letters, or with `fingerprint` (the address that alerts carry) those of one kind."""
    fingerprint = request.args.get("fingerprint")
    if fingerprint:
        return group_page(fingerprint)
    resolved = _resolved()
    return render_template(
        "console/letters.html", groups=list_groups(resolved=resolved), resolved=resolved, most=MOST_KINDS
    )


@console.get("/dead-letters/<letter_id>")
def letter(letter_id: str) -> str:
    """One letter with all that is known, and what can be done."""
    return letter_page(letter_id)


def group_page(
    fingerprint: str, *, faults: Mapping[str, str] | None = None, typed: Mapping[str, str] | None = None
) -> str:
    """The letters of one kind, with what was wrong in the form and what was typed into it."""
    resolved, before = _resolved(), request.args.get("before") or None
    group = find_group(fingerprint, resolved=resolved)
    under_way = ramp_under_way(fingerprint)
    return render_template(
        "console/group.html",
        fingerprint=fingerprint,
        group=group,
        page=letters_of(fingerprint, resolved=resolved, before=before),
        resolved=resolved,
        before=before,
        ramp=find_job(under_way, operator()) if under_way else None,
        most_per_minute=MOST_PER_MINUTE,
        faults=faults or {},
        typed={"per_minute": str(_PER_MINUTE), **(typed or {})},
    )


def letter_page(
    letter_id: str, *, faults: Mapping[str, str] | None = None, typed: Mapping[str, str] | None = None
) -> str:
    """One letter, with what was wrong in a form and what was typed into it. Raises LetterNotFound."""
    found = find_letter(letter_id)
    with reading() as session:
        job = session.get(Job, found.job_id) if found.job_id else None
    return render_template(
        "console/letter.html",
        letter=found,
        job=job,
        attempts=letter_attempts(found),
        payload=editable(job) if job else None,
        faults=faults or {},
        typed=typed or {},
    )


def _resolved() -> bool:
    return request.args.get("state") == "resolved"
