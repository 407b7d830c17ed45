"""TLS, login, and what must never cross a network in clear."""

import ssl
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest

from services.email.errors import MailerMisconfigured, MailerUnavailable
from services.email.mailer import Mailer
from services.email.server import Security
from services.email.server import SmtpServer as Server
from tests.support.smtp import Answer, SmtpServer

Connect = Callable[..., Mailer]
Build = Callable[..., EmailMessage]
Certificate = Callable[..., tuple[ssl.SSLContext, Path]]

BOTH_KINDS = pytest.mark.parametrize(("scheme", "implicit"), [("smtps", True), ("smtp+starttls", False)])


def _url(server: SmtpServer, scheme: str, login: str = "") -> str:
    return f"{scheme}://{login}127.0.0.1:{server.port}"


def _secrets_told(server: SmtpServer) -> list[str]:
    return [command for command in server.commands if command.startswith(("AUTH", "MAIL"))]


@BOTH_KINDS
def test_a_certificate_nobody_vouches_for_is_refused(
    scheme: str, implicit: bool, certificate: Certificate, connect: Connect, message: Build
) -> None:
    context, _ = certificate()
    with SmtpServer(tls=context, implicit_tls=implicit) as server:
        with pytest.raises(MailerMisconfigured, match="certificate"):
            connect(_url(server, scheme, "ada:secret@")).send(message())
        assert _secrets_told(server) == []


@BOTH_KINDS
def test_a_certificate_for_another_host_is_refused(
    scheme: str,
    implicit: bool,
    certificate: Certificate,
    connect: Connect,
    message: Build,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context, trusted = certificate("127.0.0.2")
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with SmtpServer(tls=context, implicit_tls=implicit) as server:
        with pytest.raises(MailerMisconfigured, match="certificate"):
            connect(_url(server, scheme, "ada:secret@")).send(message())
        assert _secrets_told(server) == []


@BOTH_KINDS
def test_a_trusted_server_gets_login_and_mail(
    scheme: str,
    implicit: bool,
    certificate: Certificate,
    connect: Connect,
    message: Build,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context, trusted = certificate()
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with SmtpServer(tls=context, implicit_tls=implicit) as server:
        mails = connect(_url(server, scheme, "ada%40x.test:p%3Aw@"))
        mails.send(message())
        mails.send(message())
        assert (server.sessions, len(server.accepted)) == (1, 2)
        mails.close()


def test_a_server_stripped_of_starttls_learns_nothing(
    server: SmtpServer, connect: Connect, message: Build
) -> None:
    with pytest.raises(MailerMisconfigured, match="STARTTLS"):
        connect(_url(server, "smtp+starttls", "ada:secret@")).send(message())
    assert _secrets_told(server) == []


def test_a_server_that_cannot_start_tls_now_is_tried_later(
    certificate: Certificate, connect: Connect, message: Build
) -> None:
    with SmtpServer(tls=certificate()[0]) as server:
        server.next("starttls", Answer(454))
        with pytest.raises(MailerUnavailable):
            connect(_url(server, "smtp+starttls")).send(message())


def test_a_server_without_tls_on_an_smtps_port_is_ours_to_mend(
    server: SmtpServer, connect: Connect, message: Build
) -> None:
    with pytest.raises(MailerMisconfigured):
        connect(_url(server, "smtps")).send(message())


@pytest.mark.parametrize(
    ("code", "kind"), [(535, MailerMisconfigured), (534, MailerMisconfigured), (454, MailerUnavailable)]
)
def test_a_refused_login_fails_no_mail(
    code: int, kind: type[Exception], server: SmtpServer, connect: Connect, message: Build
) -> None:
    server.always("auth", Answer(code, ("5.7.8 no such user ada",)))
    with pytest.raises(kind) as caught:
        connect(_url(server, "smtp", "ada:secret@")).send(message())
    assert "ada" not in str(caught.value)


@pytest.mark.parametrize("extensions", [("SMTPUTF8",), ("AUTH GSSAPI",)])
def test_a_server_without_a_known_login_is_ours_to_mend(
    extensions: tuple[str, ...], connect: Connect, message: Build
) -> None:
    with SmtpServer(extensions=extensions) as server, pytest.raises(MailerMisconfigured):
        connect(_url(server, "smtp", "ada:secret@")).send(message())


def test_a_password_that_is_not_ascii_is_ours_to_mend(
    server: SmtpServer, connect: Connect, message: Build
) -> None:
    with pytest.raises(MailerMisconfigured, match="ASCII"):
        connect(_url(server, "smtp", "ada:p%C3%A4ss@")).send(message())


def test_a_password_in_clear_to_another_machine_is_refused() -> None:
    with pytest.raises(MailerMisconfigured) as caught:
        Server.parse("smtp://ada:secret@mail.example.test")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["smtp://", "smtp://mail.test:port", "smtps://[::1", "http://mail.test"])
def test_an_address_that_cannot_be_read_is_ours_to_mend(url: str) -> None:
    with pytest.raises(MailerMisconfigured):
        Server.parse(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtp://mail.test", Server("mail.test", 25, Security.CLEAR)),
        ("smtps://a:b@mail.test", Server("mail.test", 465, Security.TLS, "a", "b")),
        ("smtp+starttls://a%40x:%2F@[::1]", Server("::1", 587, Security.STARTTLS, "a@x", "/")),
        ("smtp://a:b@localhost:2525", Server("localhost", 2525, Security.CLEAR, "a", "b")),
    ],
)
def test_an_address_is_read_with_its_usual_port(url: str, expected: Server) -> None:
    assert Server.parse(url) == expected


def test_a_password_is_not_shown_with_the_server() -> None:
    assert "secret" not in repr(Server.parse("smtps://ada:secret@mail.test"))
