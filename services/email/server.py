"""SMTP_URL, read."""

import ipaddress
from dataclasses import dataclass, field
from enum import Enum
from typing import Self
from urllib.parse import unquote, urlsplit

from services.email.errors import MailerMisconfigured


class Security(Enum):
    """The value is SMTP_URL's scheme."""

    CLEAR = "smtp"
    TLS = "smtps"
    STARTTLS = "smtp+starttls"


_PORTS = {Security.CLEAR: 25, Security.TLS: 465, Security.STARTTLS: 587}


@dataclass(frozen=True)
class SmtpServer:
    """Where mail is handed over, and as whom; an empty username means without login."""

    host: str
    port: int
    security: Security
    username: str = ""
    password: str = field(default="", repr=False)

    @classmethod
    def parse(cls, url: str) -> Self:
        """Read `smtp+starttls://user:password@host:587`; user and password are percent-encoded.

        Raises MailerMisconfigured, also when a password would cross a network in clear.
        """
        try:
            parts = urlsplit(url)
            security, port = Security(parts.scheme), parts.port
        except ValueError:
            raise MailerMisconfigured("SMTP_URL cannot be read") from None
        if not parts.hostname:
            raise MailerMisconfigured("SMTP_URL names no host")
        if security is Security.CLEAR and parts.username and not _is_loopback(parts.hostname):
            raise MailerMisconfigured("SMTP_URL has a password, which needs smtps:// or smtp+starttls://")
        return cls(
            host=parts.hostname,
            port=port or _PORTS[security],
            security=security,
            username=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
