"""What jobs, batches and states are called on pages. Programs read the codes, people read these."""

from collections.abc import Mapping
from typing import Any

from app.pages.findings import score
from app.reading.batches import BatchView
from app.reading.jobs import JobView
from db.models.jobs import State

_STATES = {
    State.QUEUED: "Queued",
    State.WAITING: "Waiting",
    State.RUNNING: "Running",
    State.SUCCEEDED: "Done",
    State.DEAD: "Failed",
    State.CANCELLED: "Cancelled",
}
_TITLES = {
    "emails.send_email": "Send an e-mail",
    "emails.send_newsletter": "Send a newsletter",
    "images.resize_image": "Resize a picture",
    "documents.analyse_document": "Analyse a document",
}
_BATCHES = {
    "contact": "Your message",
    "images": "Resize pictures",
    "documents": "Analyse documents",
    "newsletter": "Newsletter",
}
# The members of a contact batch, in its order.
_LETTERS = ("Your message to the owner", "Acknowledgement to you")


def state_word(state: str) -> str:
    """The word for a state."""
    return _STATES[State(state)]


def job_title(job: JobView) -> str:
    """What the job does; a type without a name of its own is called by its function.

    The two mails of a contact message are told apart.
    """
    if job.batch_kind == "contact" and job.position in range(len(_LETTERS)):
        return _LETTERS[job.position or 0]
    return _TITLES.get(job.type, job.title)


def batch_title(batch: BatchView) -> str:
    """What was submitted."""
    return _BATCHES.get(batch.kind, batch.kind.replace("_", " ").capitalize())


def member_names(batch: BatchView) -> dict[str, str]:
    """Job id → what tells the batch's jobs apart: the file's name where there is one."""
    return {job.id: job.source_name or job_title(job) for job in batch.jobs}


def standing(batch: BatchView) -> str:
    """`3 of 5 finished, 1 failed`."""
    parts = [f"{batch.finished:,} of {batch.total:,} finished"]
    for state, word in ((State.DEAD, "failed"), (State.CANCELLED, "cancelled")):
        if count := batch.counts[state]:
            parts.append(f"{count:,} {word}")
    return ", ".join(parts)


def outcome(job: JobView) -> str:
    """One line about a result, for lists; empty when there is nothing short to say."""
    result = job.result or {}
    if "renditions" in result:
        count = len(result["renditions"])
        return f"{count} {'size' if count == 1 else 'sizes'}"
    return _outcome_of_analysis(result.get("answer") or {})


def _outcome_of_analysis(answer: Mapping[str, Any]) -> str:
    if "score" in answer:
        return f"{answer['label'].capitalize()}, {score(answer['score'])}"
    if "summary" in answer:
        return str(answer["title"] or answer["summary"])
    if "dates" in answer:
        found = (
            (len(answer[kind]), kind) for kind in ("people", "organisations", "dates", "amounts", "emails")
        )
        return ", ".join(f"{count} {kind}" for count, kind in found if count)
    return ""
