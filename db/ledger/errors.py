"""What the ledger refuses, by name."""


class LedgerError(Exception):
    """The base of the ledger's refusals; nothing was changed."""


class LeaseLost(LedgerError):
    """This start no longer owns the job: its lease ran out and another may have taken over."""


class JobNotFound(LedgerError):
    """No job has this id."""


class LetterNotFound(LedgerError):
    """No dead letter has this id."""


class AlreadyResolved(LedgerError):
    """The dead letter was dealt with before."""


class WrongResolution(LedgerError):
    """This dead letter cannot be resolved that way."""


class KeyReused(LedgerError):
    """The idempotency key was used before for other content."""


class EffectUnknown(LedgerError):
    """An earlier start began this effect and nobody knows whether it happened."""
