"""One SMTP connection. smtplib's own `sendmail` hides which stage failed, so the steps are taken here."""

import smtplib
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Self, TypeVar

from services.email.envelope import Envelope
from services.email.errors import AddressUnsupported, MailerMisconfigured
from services.email.replies import Stage, refused, unanswered, untrusted
from services.email.server import Security, SmtpServer

T = TypeVar("T")
Reply = tuple[int, bytes]


class Session:
    """A server that has been greeted and logged in to. Every method raises the errors of `replies`."""

    def __init__(self, smtp: smtplib.SMTP) -> None:
        self._smtp = smtp

    @classmethod
    def open(cls, server: SmtpServer, *, timeout: float, hello: str) -> Self:
        """Connect, secure and log in; `timeout` in seconds bounds each wait, `hello` is our name in EHLO.

        Certificates are verified against the system's authorities, or those of SSL_CERT_FILE.
        """
        session = cls(_connect(server, timeout, hello))
        try:
            session._greet()
            if server.security is Security.STARTTLS:
                session._secure()
                session._greet()
            if server.username:
                session._log_in(server)
        except BaseException:
            session.close()
            raise
        return session

    @property
    def is_open(self) -> bool:
        """False once the connection was lost or the server said it would close it (421)."""
        return self._smtp.sock is not None

    def begin(self, envelope: Envelope) -> None:
        """MAIL FROM. Nothing is lost when it fails: the server knows no message yet."""
        options = []
        if self._smtp.has_extn("size"):
            options.append(f"SIZE={len(envelope.data)}")
        if envelope.international:
            if not self._smtp.has_extn("smtputf8"):
                raise AddressUnsupported("the mail server takes only ASCII before the @ of an address")
            options.append("SMTPUTF8")
        self._ask(Stage.MAIL, lambda: self._smtp.mail(envelope.sender, options), 250)

    def deliver(self, envelope: Envelope) -> int:
        """RCPT TO, DATA and the message; the code of the server's yes.

        Raises DeliveryUnknown when the answer to the final dot is missing.
        """
        self._ask(Stage.RCPT, lambda: self._smtp.rcpt(envelope.recipient), 250, 251, 252)
        self._ask(Stage.DATA, lambda: self._smtp.docmd("DATA"), 354)
        # The dot goes alone: as long as it has not been sent, the server cannot have taken the message.
        self._try(Stage.BODY, lambda: self._smtp.send(envelope.data))
        return self._ask(Stage.DOT, self._end, 250)

    def reset(self) -> None:
        """Forget a refused message, so that the next one can begin; a server that cannot is left."""
        try:
            code, _ = self._smtp.rset()
        except OSError:
            code = 0
        if code != 250:
            self.close()

    def quit(self) -> None:
        """Say goodbye. What was accepted stays accepted, so a failure here means nothing."""
        with suppress(OSError):
            self._smtp.quit()
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._smtp.close()

    def _greet(self) -> None:
        self._ask(Stage.EHLO, self._smtp.ehlo, 250)

    def _secure(self) -> None:
        if not self._smtp.has_extn("starttls"):
            # Going on in clear is what somebody who strips STARTTLS on the way is waiting for.
            raise MailerMisconfigured("SMTP_URL demands STARTTLS and the mail server does not offer it")
        context = ssl.create_default_context()
        try:
            self._ask(Stage.STARTTLS, lambda: self._smtp.starttls(context=context), 220)
        except ssl.SSLError as error:
            raise untrusted(error) from error

    def _log_in(self, server: SmtpServer) -> None:
        try:
            # 503: already authenticated.
            self._ask(Stage.AUTH, lambda: self._smtp.login(server.username, server.password), 235, 503)
        except UnicodeEncodeError:
            raise MailerMisconfigured("the user name and password in SMTP_URL must be ASCII") from None

    def _end(self) -> Reply:
        self._smtp.send(b".\r\n")
        return self._smtp.getreply()

    def _ask(self, stage: Stage, step: Callable[[], Reply], *wanted: int) -> int:
        code, text = self._try(stage, step)
        if code in wanted:
            return code
        if code == 421 or not 400 <= code < 600:
            self.close()
        raise refused(stage, code, text)

    def _try(self, stage: Stage, step: Callable[[], T]) -> T:
        """Run one step of smtplib, whose exceptions quote the server's words: only numbers are kept."""
        try:
            return step()
        except ssl.SSLError:
            raise
        except smtplib.SMTPResponseException as error:
            if self.is_open:
                raise refused(stage, error.smtp_code, _bytes(error.smtp_error)) from None
            raise unanswered(stage) from None  # the reply was too long to be one
        except smtplib.SMTPServerDisconnected as error:
            raise unanswered(stage) from error
        except smtplib.SMTPException:
            raise MailerMisconfigured("the mail server offers no login that is known here") from None
        except OSError as error:
            self.close()
            raise unanswered(stage) from error


def _connect(server: SmtpServer, timeout: float, hello: str) -> smtplib.SMTP:
    try:
        if server.security is Security.TLS:
            context = ssl.create_default_context()
            smtp: smtplib.SMTP = smtplib.SMTP_SSL(
                server.host, server.port, hello, timeout=timeout, context=context
            )
        else:
            smtp = smtplib.SMTP(server.host, server.port, hello, timeout=timeout)
    except smtplib.SMTPConnectError as error:
        raise refused(Stage.BANNER, error.smtp_code, _bytes(error.smtp_error)) from None
    except ssl.SSLError as error:
        raise untrusted(error) from error
    except OSError as error:
        raise unanswered(Stage.BANNER) from error
    if smtp.sock is not None:
        # The message and its dot are two writes; without this the second waits for an acknowledgement.
        smtp.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return smtp


def _bytes(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
