"""Builders for mail tests: a server on loopback, a mailer that talks to it, a message, certificates."""

import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from config.settings import get_settings
from services.email.addresses import Mailbox
from services.email.compose import letter
from services.email.mailer import Mailer
from services.email.server import SmtpServer as Server
from tests.support.smtp import SmtpServer


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The defaults, whatever the machine's own environment says."""
    monkeypatch.setenv("ENV_FILE", "")
    for name in ("MAIL_FROM", "SMTP_URL", "SMTP_TIMEOUT_SECONDS", "PUBLIC_URL"):
        monkeypatch.delenv(name, raising=False)
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


@pytest.fixture
def server() -> Iterator[SmtpServer]:
    """A server that accepts everything until told otherwise."""
    with SmtpServer() as running:
        yield running


@pytest.fixture
def connect() -> Iterator[Callable[..., Mailer]]:
    """`connect(url)` makes a mailer, closed when the test ends."""
    made: list[Mailer] = []

    def connect_to(url: str, *, timeout: float = 3) -> Mailer:
        made.append(Mailer(Server.parse(url), timeout=timeout, hello="client.test"))
        return made[-1]

    yield connect_to
    for mailer in made:
        mailer.close()


@pytest.fixture
def message() -> Callable[..., EmailMessage]:
    """`message(...)` makes a short letter to one person."""

    def build(
        email: str = "ada@example.test", name: str = "Ada", subject: str = "Hello", text: str = "Hello.\n"
    ) -> EmailMessage:
        return letter(to=Mailbox(email=email, name=name), subject=subject, text=text, local_id="one")

    return build


@pytest.fixture
def certificate(tmp_path: Path) -> Callable[..., tuple[ssl.SSLContext, Path]]:
    """`certificate(address)` makes a self-signed one: the server's context, and the file to trust it by."""

    def make(address: str = "127.0.0.1") -> tuple[ssl.SSLContext, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mail.test")])
        now = datetime.now(UTC)
        signed = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        chain, secret = tmp_path / "certificate.pem", tmp_path / "key.pem"
        chain.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        secret.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, secret)
        return context, chain

    return make
