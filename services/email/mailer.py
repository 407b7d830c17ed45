"""The mailer of this process: one connection, kept between mails."""

import os
from email.message import EmailMessage
from functools import cache
from threading import Lock
from typing import Any

from config.settings import get_settings
from services.email.addresses import sender
from services.email.envelope import Envelope
from services.email.errors import MailerUnavailable
from services.email.server import SmtpServer
from services.email.session import Session
from services.errors import ServiceError


class Mailer:
    """Hands messages to one SMTP server, one at a time; connects when the first is sent."""

    def __init__(self, server: SmtpServer, *, timeout: float, hello: str) -> None:
        """`timeout` in seconds for each wait on the socket; `hello` is the name we give in EHLO."""
        self._server, self._timeout, self._hello = server, timeout, hello
        self._session: Session | None = None
        self._lock = Lock()

    def send(self, message: EmailMessage) -> dict[str, Any]:
        """Deliver to the one recipient; the receipt has `message_id`, the server's `code` and `server`.

        Raises MailerUnavailable, MailerMisconfigured, AddressRejected, AddressUnsupported, MessageRejected,
        or DeliveryUnknown when the server got everything and its answer is missing. Only after that last one
        may a copy have been delivered.
        """
        envelope = Envelope.of(message)
        with self._lock:
            code = self._transact(envelope)
        return {"message_id": envelope.message_id, "code": code, "server": self._server.host}

    def close(self) -> None:
        """Say goodbye to the server; the next mail connects anew."""
        with self._lock:
            if self._session is not None and self._session.is_open:
                self._session.quit()
            self._session = None

    def _transact(self, envelope: Envelope) -> int:
        try:
            return self._begin(envelope).deliver(envelope)
        except ServiceError:
            if self._session is not None and self._session.is_open:
                self._session.reset()
            raise
        except BaseException:
            # A time limit, say, in the middle of a sentence: the next mail must not finish it.
            if self._session is not None:
                self._session.close()
            raise

    def _begin(self, envelope: Envelope) -> Session:
        """A session that has accepted MAIL FROM. Servers close idle connections, so a kept one is replaced
        once when it turns out to be gone."""
        session = self._session
        if session is not None and session.is_open:
            try:
                session.begin(envelope)
            except MailerUnavailable:
                if session.is_open:
                    raise
            else:
                return session
        fresh = self._session = Session.open(self._server, timeout=self._timeout, hello=self._hello)
        fresh.begin(envelope)
        return fresh


def mailer() -> Mailer:
    """The configured mailer. Raises MailerMisconfigured when SMTP_URL or MAIL_FROM cannot be used."""
    settings = get_settings()
    return _mailer(os.getpid(), settings.smtp_url, settings.smtp_timeout_seconds, sender().domain)


@cache
def _mailer(_pid: int, smtp_url: str, timeout: float, hello: str) -> Mailer:
    # By process id: after a fork, two processes would talk over each other on one connection.
    return Mailer(SmtpServer.parse(smtp_url), timeout=timeout, hello=hello)
