"""Every change of a job's state, and nothing else. No function commits: the caller's transaction does."""

from db.ledger.batches import await_batch, cancel_some, complete_batches, open_batch, tally
from db.ledger.cancel import cancel
from db.ledger.effects import begin_effect, doubt_effect, forget_effect, record_receipt
from db.ledger.enqueue import PUBLISH_GRACE, NewJob, enqueue
from db.ledger.errors import (
    AlreadyResolved,
    EffectUnknown,
    JobNotFound,
    KeyReused,
    LeaseLost,
    LedgerError,
    LetterNotFound,
    WrongResolution,
)
from db.ledger.groups import Group, discard_some, open_group, replay_some
from db.ledger.keys import Earlier, bind, reserve, take_once
from db.ledger.letters import Letter, Rewritten, audit, discard, open_letter, replay, resolve
from db.ledger.outcome import Failure, bury, finish, finish_many, lose, park, release, stop
from db.ledger.overdue import Due, mark_published, next_due, take_overdue
from db.ledger.pauses import Pause, pause, pauses, put_back, resume
from db.ledger.pressure import Pressure, count_refused, pressure, refused
from db.ledger.reconcile import missing, publish_again, still_held
from db.ledger.start import (
    Start,
    Unclaimed,
    checkpoint,
    claim,
    expired,
    hold_back,
    renew,
    running_on,
    stored_payload,
    why_unclaimed,
)
from db.ledger.strangers import set_aside
from db.ledger.together import absolve, checkpoint_many, claim_many, give_back
from db.ledger.unique import Standing, replace_unique, take_unique

__all__ = [
    "PUBLISH_GRACE",
    "AlreadyResolved",
    "Due",
    "Earlier",
    "EffectUnknown",
    "Failure",
    "Group",
    "JobNotFound",
    "KeyReused",
    "LeaseLost",
    "LedgerError",
    "Letter",
    "LetterNotFound",
    "NewJob",
    "Pause",
    "Pressure",
    "Rewritten",
    "Standing",
    "Start",
    "Unclaimed",
    "WrongResolution",
    "absolve",
    "audit",
    "await_batch",
    "begin_effect",
    "bind",
    "bury",
    "cancel",
    "cancel_some",
    "checkpoint",
    "checkpoint_many",
    "claim",
    "claim_many",
    "complete_batches",
    "count_refused",
    "discard",
    "discard_some",
    "doubt_effect",
    "enqueue",
    "expired",
    "finish",
    "finish_many",
    "forget_effect",
    "give_back",
    "hold_back",
    "lose",
    "mark_published",
    "missing",
    "next_due",
    "open_batch",
    "open_group",
    "open_letter",
    "park",
    "pause",
    "pauses",
    "pressure",
    "publish_again",
    "put_back",
    "record_receipt",
    "refused",
    "release",
    "renew",
    "replace_unique",
    "replay",
    "replay_some",
    "reserve",
    "resolve",
    "resume",
    "running_on",
    "set_aside",
    "still_held",
    "stop",
    "stored_payload",
    "take_once",
    "take_overdue",
    "take_unique",
    "tally",
    "why_unclaimed",
]
