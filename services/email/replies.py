"""What an SMTP server's answer, or its silence, means at each stage (RFC 5321, 4.2)."""

import re
import ssl
from enum import Enum

from services.email.errors import (
    AddressRejected,
    DeliveryUnknown,
    MailerMisconfigured,
    MailerUnavailable,
    MessageRejected,
)
from services.errors import ServiceError


class Stage(Enum):
    """How far the conversation has come; the value is what error messages call it."""

    BANNER = "the connection"
    EHLO = "EHLO"
    STARTTLS = "STARTTLS"
    AUTH = "AUTH"
    MAIL = "MAIL FROM"
    RCPT = "RCPT TO"
    DATA = "DATA"
    BODY = "the message's text"
    DOT = "the end of the message"


# Before MAIL the server knows nothing of the message, so its refusal is about us and all mail alike.
_ON_5YZ: dict[Stage, type[ServiceError]] = {
    Stage.BANNER: MailerMisconfigured,
    Stage.EHLO: MailerMisconfigured,
    Stage.STARTTLS: MailerMisconfigured,
    Stage.AUTH: MailerMisconfigured,
    Stage.MAIL: MessageRejected,
    Stage.RCPT: AddressRejected,
    Stage.DATA: MessageRejected,
    Stage.BODY: MessageRejected,
    Stage.DOT: MessageRejected,
}

# RFC 4954: authentication required, mechanism too weak, credentials invalid, encryption required.
_ABOUT_OUR_LOGIN = {530, 534, 535, 538}

# RFC 3463, at the start of the reply's text, e.g. 5.1.1.
_ENHANCED = re.compile(rb"[245]\.\d{1,3}\.\d{1,3}(?!\S)")

_LOST_IN_HANDSHAKE = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


def refused(stage: Stage, code: int, text: bytes) -> ServiceError:
    """The error for a reply that does not let the conversation go on. Only the numbers are kept of it.

    A reply that is neither 4yz nor 5yz is out of turn and tells no more than silence.
    """
    if code in _ABOUT_OUR_LOGIN:
        kind: type[ServiceError] = MailerMisconfigured
    elif 400 <= code < 500:
        kind = MailerUnavailable
    elif 500 <= code < 600:
        kind = _ON_5YZ[stage]
    else:
        return unanswered(stage)
    enhanced = _ENHANCED.match(text)
    numbers = f"{code} {enhanced[0].decode()}" if enhanced else f"{code}"
    return kind(f"the mail server answered {numbers} to {stage.value}")


def unanswered(stage: Stage) -> ServiceError:
    """The error for a lost connection, a timeout, or a server that cannot be reached.

    A server that is down is down for everybody, yet it is transient and no outage of ours: it comes back by
    itself, and retries find that out without an operator.
    """
    if stage is Stage.DOT:
        return DeliveryUnknown("the message was handed over and the mail server did not answer")
    return MailerUnavailable(f"the mail server did not answer to {stage.value}")


def untrusted(error: ssl.SSLError) -> ServiceError:
    """The error for a TLS handshake that failed: ours to mend, unless the connection was merely lost."""
    if isinstance(error, _LOST_IN_HANDSHAKE):
        return MailerUnavailable("the mail server closed the connection during the TLS handshake")
    if isinstance(error, ssl.SSLCertVerificationError):
        return MailerMisconfigured(f"the mail server's certificate is refused: {error.verify_message}")
    return MailerMisconfigured("the mail server does not speak TLS as SMTP_URL demands")
