"""A person's address, checked by email-validator without asking DNS: a form must not wait for a resolver."""

import re
from email.utils import parseaddr
from functools import lru_cache
from typing import Annotated, Self

import idna
from email_validator import EmailNotValidError, ValidatedEmail, validate_email
from email_validator.rfc_constants import CASE_INSENSITIVE_MAILBOX_NAMES, EMAIL_MAX_LENGTH
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from config.settings import get_settings
from services.email.errors import MailerMisconfigured
from services.email.fields import has_controls, one_line

# What stands before the @ in nearly every address: RFC 5322's dot-atom in ASCII, with RFC 5321's 64 octets.
_PLAIN = re.compile(r"(?!.{65})[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*", re.ASCII)


def normalise_address(text: str) -> str:
    """The address with its domain in lower case and Unicode in NFC; ValueError when mail cannot go there.

    The message is fixed: email-validator's own would quote the address.
    """
    if has_controls(text):
        raise ValueError("must not hold control characters")
    address = text.strip(" ")
    local, at, domain = address.rpartition("@")
    try:
        if at and _PLAIN.fullmatch(local) and local.lower() not in CASE_INSENSITIVE_MAILBOX_NAMES:
            length, normal = _domain(domain)
            if len(local) + 1 + length <= EMAIL_MAX_LENGTH:
                return f"{local}@{normal}"
        return _validated(address).normalized
    except EmailNotValidError:
        raise ValueError("is not an e-mail address") from None


def address_key(address: str) -> str:
    """Equal for the spellings of one mailbox: no server in use tells `Ada@` from `ada@`."""
    return address.casefold()


@lru_cache(maxsize=10_000)
def _domain(domain: str) -> tuple[int, str]:
    """The octets of the domain in its longer form, and its normal form. Raises EmailNotValidError.

    Remembered, because a list's ten thousand recipients share few domains and checking one takes 50 µs.
    """
    found = _validated(f"a@{domain}")
    return max(len(found.ascii_domain), len(found.domain.encode())), found.domain


def _validated(address: str) -> ValidatedEmail:
    # test_environment admits the .test domains of RFC 2606, which this project's own addresses use.
    # strict holds the part before the @ to the 64 octets of RFC 5321.
    return validate_email(address, check_deliverability=False, test_environment=True, strict=True)


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
