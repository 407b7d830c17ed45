"""A person's address, checked by email-validator without asking DNS: a form must not wait for a resolver."""

from email.utils import parseaddr
from typing import Annotated, Self

import idna
from email_validator import EmailNotValidError, validate_email
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from config.settings import get_settings
from services.email.errors import MailerMisconfigured
from services.email.fields import has_controls, one_line


def normalise_address(text: str) -> str:
    """The address with its domain in lower case and Unicode in NFC; ValueError when mail cannot go there.

    The message is fixed: email-validator's own would quote the address.
    """
    if has_controls(text):
        raise ValueError("must not hold control characters")
    try:
        # test_environment admits the .test domains of RFC 2606, which this project's own addresses use.
        # strict holds the part before the @ to the 64 octets of RFC 5321.
        found = validate_email(
            text.strip(" "), check_deliverability=False, test_environment=True, strict=True
        )
    except EmailNotValidError:
        raise ValueError("is not an e-mail address") from None
    return found.normalized


Address = Annotated[
    str, Field(max_length=254, json_schema_extra={"format": "email"}), AfterValidator(normalise_address)
]


class Mailbox(BaseModel):
    """An address and the name shown for it; the name may be empty."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    email: Address
    name: Annotated[str, Field(max_length=300), AfterValidator(one_line)] = ""

    @property
    def domain(self) -> str:
        """The domain as DNS and SMTP write it: `bücher.example` is `xn--bcher-kva.example`."""
        return idna.encode(self.email.rpartition("@")[2], uts46=True).decode("ascii")

    @property
    def wire(self) -> str:
        """The address for SMTP. Not ASCII only when the part before the @ is not (RFC 6531)."""
        return f"{self.email.rpartition('@')[0]}@{self.domain}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `Name <address>`; raises pydantic.ValidationError."""
        name, email = parseaddr(text)
        return cls(email=email, name=name)


def sender() -> Mailbox:
    """MAIL_FROM; raises MailerMisconfigured when it is not an address."""
    try:
        return Mailbox.parse(get_settings().mail_from)
    except ValidationError:
        raise MailerMisconfigured("MAIL_FROM is not an address, or Name <address>") from None
