"""The error tree, by remedy. Adapters translate a vendor's errors into these; nothing else leaves a service.

A message is stored, shown and logged, so it never holds contents: no address, text, key or file name.
"""

from datetime import timedelta
from typing import ClassVar


class ServiceError(Exception):
    """The base: `code` is stable and part of the API, the message is for people."""

    code: ClassVar[str] = "service_error"


class Transient(ServiceError):
    """It may work later: the job is parked and tried again."""

    code = "transient"

    def __init__(self, message: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Throttled(Transient):
    """The other side is asked too often: everybody who shares the rate key waits, and no attempt is charged."""

    code = "throttled"


class Permanent(ServiceError):
    """It will never work with this input: the job goes to the dead letters at once."""

    code = "permanent"


class SenderOutage(ServiceError):
    """Our credentials, quota or configuration are at fault: jobs wait, none is failed for it."""

    code = "sender_outage"

    def __init__(self, message: str, *, retry_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class OutcomeUnknown(ServiceError):
    """The effect may have happened: never repeated blindly, an operator decides."""

    code = "outcome_unknown"
