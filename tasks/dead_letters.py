"""The `dead_letter` route: tell the owner, once for a whole outage, and replay a kind of letter little by little."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import StringConstraints
from sqlalchemy import func, select

from config.settings import get_settings
from db import ledger
from db.engine import reading, transaction
from db.models import DeadLetter, Job
from db.models.jobs import FINAL, State
from services.alerts import Alert, alert_url, log_alert, mail_alert, post_alert
from tasks.engine import Id, NotYet, Payload, Run, job, unit_of_work

# How often a ramp looks whether its canary has ended, unless the canary itself says when it will be tried again.
_LOOK = timedelta(seconds=5)
_LONGEST_LOOK = timedelta(minutes=5)
_STEP = timedelta(minutes=1)
MOST_PER_MINUTE = 600

# As `ledger.Letter.fingerprint` makes it.
Fingerprint = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]


class LettersRef(Payload):
    """Dead letters of one kind, and the way to tell about them."""

    fingerprint: Fingerprint
    channel: Literal["log", "email", "webhook"]


@job(
    name="dead_letter.alert",
    queue="dead_letter",
    payload=LettersRef,
    max_retries=10,
    retry_backoff=30,
    time_limit=90,
    owner="operators",
)
def alert_owner(ref: LettersRef, run: Run) -> dict[str, Any]:
    """Say how many letters of this kind are open. Each channel is a job of its own, so one cannot hold up another."""
    alert = _alert(ref, run)
    settings = get_settings()
    if alert is None:
        return {"open_letters": 0}
    with run.once(f"alert:{run.job_id}") as effect:
        if ref.channel == "email" and settings.alert_email:
            effect.receipt = effect.receipt or mail_alert(alert, to=settings.alert_email, local_id=run.job_id)
        elif ref.channel == "webhook" and settings.alert_webhook_url:
            effect.receipt = effect.receipt or post_alert(alert, url=settings.alert_webhook_url)
        else:
            log_alert(alert)
    return {"open_letters": alert.open_letters, "receipt": effect.receipt}


def _alert(ref: LettersRef, run: Run) -> Alert | None:
    open_ones = (DeadLetter.fingerprint == ref.fingerprint, DeadLetter.resolution.is_(None))
    letter = run.session.scalar(select(DeadLetter).where(*open_ones).order_by(DeadLetter.id.desc()).limit(1))
    if letter is None:
        return None
    return Alert(
        fingerprint=letter.fingerprint,
        owner=letter.owner,
        type=letter.type,
        queue=letter.queue,
        reason=letter.reason,
        code=letter.error_code,
        message=letter.error_message,
        open_letters=run.session.scalar(select(func.count()).select_from(DeadLetter).where(*open_ones)) or 0,
        url=alert_url(letter.fingerprint),
    )


class RampRef(Payload):
    """The letters of one kind up to `last_letter_id`: later ones may be of jobs that this very ramp replayed."""

    fingerprint: Fingerprint
    canary_job_id: Id
    last_letter_id: Id
    letters: int
    per_minute: int


@job(
    name="dead_letter.ramp",
    queue="dead_letter",
    payload=RampRef,
    time_limit=60,
    owner="operators",
)
def ramp(ref: RampRef, run: Run) -> dict[str, Any]:
    """Replay the rest once the canary has succeeded, so many a minute. Cancel this job to stop it between two steps."""
    canary = run.session.execute(
        select(Job.state, Job.due_at).where(Job.id == ref.canary_job_id)
    ).one_or_none()
    if canary is not None and canary.state not in FINAL:
        raise NotYet("The first letter's job has not ended yet.", wait=_patience(canary.state, canary.due_at))
    if canary is None or canary.state != State.SUCCEEDED:
        return {
            "outcome": "canary_failed",
            "canary": canary.state if canary else "removed",
            "left": ref.letters,
        }
    note = f"ramp {run.job_id}"
    with transaction() as connection:
        left = ledger.replay_some(
            connection,
            ref.fingerprint,
            up_to=ref.last_letter_id,
            per_minute=ref.per_minute,
            actor=run.created_by,
            note=note,
        )
    if left:
        run.checkpoint(100 * (ref.letters - left) // ref.letters)
        raise NotYet(f"{left} of {ref.letters} letters are left.", wait=_STEP)
    # Others had settled the rest of them, or a newer job had taken its key over.
    mine = (DeadLetter.fingerprint == ref.fingerprint, DeadLetter.note == note)
    replayed = run.session.scalar(select(func.count()).select_from(DeadLetter).where(*mine)) or 0
    return {"outcome": "replayed", "letters": replayed, "skipped": ref.letters - replayed}


@dataclass(frozen=True)
class Ramp:
    """A replay that has begun. `job_id` is None when there was only one letter, the canary."""

    canary_job_id: str
    job_id: str | None
    letters: int


def start_ramp(fingerprint: str, *, per_minute: int, actor: str, reason: str = "") -> Ramp:
    """Replay the oldest open letter of this kind now, and the others by a job of their own once it has succeeded.

    Raises ledger.LetterNotFound when none is open; ledger.WrongResolution for a kind that cannot be replayed,
    and while another ramp replays it; ValueError when `per_minute` is not 1 to 600.
    """
    if not 1 <= per_minute <= MOST_PER_MINUTE:
        raise ValueError(f"per_minute must be 1 to {MOST_PER_MINUTE}")
    if (other := ramp_under_way(fingerprint)) is not None:
        raise ledger.WrongResolution(f"these letters are being replayed already, by job {other}")
    with unit_of_work(created_by=actor) as work:
        connection = work.session.connection()
        group = ledger.open_group(connection, fingerprint)
        # Of two operators at once the second finds this letter resolved and starts no second ramp.
        canary = ledger.replay(connection, group.first_id, actor=actor, note=reason)
        rest = RampRef(
            fingerprint=fingerprint,
            canary_job_id=canary,
            last_letter_id=group.last_id,
            letters=group.letters - 1,
            per_minute=per_minute,
        )
        begun = work.enqueue(ramp, rest, run_at=datetime.now(UTC) + _LOOK) if rest.letters else None
        details = {"letters": group.letters, "per_minute": per_minute, "canary": canary, "note": reason}
        if begun is not None:
            details["job_id"] = begun.id
        ledger.audit(
            connection, actor=actor, action="dead_letter.ramp_started", target=fingerprint, details=details
        )
    return Ramp(canary, begun.id if begun else None, group.letters)


def ramp_under_way(fingerprint: str) -> str | None:
    """The job that replays this kind of letter at the moment."""
    unfinished = select(Job.id, Job.payload).where(Job.type == ramp.name, Job.due_at.is_not(None))
    with reading() as session:
        return next(
            (id_ for id_, ref in session.execute(unfinished) if ref["fingerprint"] == fingerprint), None
        )


def _patience(state: str, due_at: datetime) -> timedelta:
    """A canary that waits for its own retry need not be asked every few seconds."""
    if state != State.WAITING:
        return _LOOK
    return min(max(_LOOK, due_at - datetime.now(UTC)), _LONGEST_LOOK)
