"""A message as SMTP wants it: two addresses and bytes."""

import re
from dataclasses import dataclass, field
from email import policy
from email.message import EmailMessage
from typing import Self

from services.email.errors import MessageRejected
from services.email.fields import has_controls

_ASCII = policy.SMTP.clone(refold_source="none", cte_type="7bit")
_UTF8 = _ASCII.clone(utf8=True)


@dataclass(frozen=True)
class Envelope:
    """`data` ends every line with CRLF and is dot-stuffed (RFC 5321, 4.5.2), without the final dot."""

    sender: str
    recipient: str
    message_id: str
    data: bytes = field(repr=False)

    @property
    def international(self) -> bool:
        """Whether the server has to know SMTPUTF8."""
        return not (self.sender + self.recipient).isascii()

    @classmethod
    def of(cls, message: EmailMessage) -> Self:
        """Raises MessageRejected unless it is from one mailbox to one, with the headers it claims to have."""
        sender, recipient = _only_address(message, "From"), _only_address(message, "To")
        if "Cc" in message or "Bcc" in message:
            raise MessageRejected("a message goes to one recipient")
        try:
            flat = message.as_bytes(policy=_ASCII if (sender + recipient).isascii() else _UTF8)
        except UnicodeError:
            raise MessageRejected("the message cannot be encoded") from None
        # A bare CR or LF is a line end to some servers only, which is how one message is made two.
        data = re.sub(rb"\r\n|\r|\n", b"\r\n", flat)
        _check_headers(message, data)
        return cls(
            sender=sender,
            recipient=recipient,
            message_id=str(message["Message-ID"] or ""),
            data=re.sub(rb"(?m)^\.", b"..", data if data.endswith(b"\r\n") else data + b"\r\n"),
        )


def _only_address(message: EmailMessage, header: str) -> str:
    values = message.get_all(header, [])
    addresses: list[str] = [address.addr_spec for value in values for address in value.addresses]
    if len(addresses) != 1 or "@" not in addresses[0] or has_controls(addresses[0]):
        raise MessageRejected(f"a message needs exactly one {header} address")
    return addresses[0]


def _check_headers(message: EmailMessage, data: bytes) -> None:
    """What is written must be what was set: the standard library can be tricked into writing one more."""
    head = data.partition(b"\r\n\r\n")[0]
    written = [line.partition(b":")[0].lower() for line in head.split(b"\r\n") if line[:1] not in b" \t"]
    if written != [name.lower().encode() for name in message.keys()]:  # noqa: SIM118  # keeps duplicates
        raise MessageRejected("a header holds a line break")
