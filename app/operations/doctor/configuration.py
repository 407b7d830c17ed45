"""Checks of the settings alone."""

import ipaddress
import secrets
import socket
from urllib.parse import urlsplit

from app.operations.doctor.finding import Finding, error, ok, warning
from app.operations.doctor.system import System
from config.settings import DEVELOPMENT_SECRET
from services.email.addresses import sender
from services.email.errors import MailerMisconfigured
from services.email.server import SmtpServer

_CONNECT_S = 2.0


def own_secrets(system: System) -> Finding:
    """Production refuses the known ones by itself; development must not be reachable with them."""
    settings = system.settings
    known = [
        name.upper()
        for name in ("secret_key", "console_password")
        if getattr(settings, name).get_secret_value() in ("", DEVELOPMENT_SECRET)
    ]
    if not known:
        return ok("SECRET_KEY and CONSOLE_PASSWORD are your own")
    says = f"{' and '.join(known)} can be read in the source code"
    change = "\n".join(f"{name}={secrets.token_urlsafe(32)}" for name in known)
    return error(says, change) if _public(settings.public_url) else warning(says, change)


def mode(system: System) -> Finding:
    """Development shows more, and asks for less, than the public should get."""
    settings = system.settings
    public = _public(settings.public_url)
    if settings.app_env == "development":
        if public:
            return error(f"development mode at {settings.public_url}", "APP_ENV=production")
        return ok("development, on this machine only")
    if public and settings.public_url.startswith("http://"):
        https = settings.public_url.replace("http://", "https://", 1)
        return warning("cookies travel in clear, as PUBLIC_URL is not https", f"PUBLIC_URL={https}")
    return ok("production")


def flower_door(system: System) -> Finding:
    """Flower shows every queue to whoever reaches its port."""
    settings = system.settings
    if _loopback(settings.flower_address):
        return ok("Flower listens on this machine only")
    if settings.app_env == "development":
        return error(
            f"Flower listens on {settings.flower_address} in development", "FLOWER_ADDRESS=127.0.0.1"
        )
    return ok(f"Flower listens on {settings.flower_address}, behind its login")


def mail_server(system: System) -> Finding:
    """Connected to, without a word: whether it takes our login and our mail is a job's business."""
    try:
        server = SmtpServer.parse(system.settings.smtp_url)
    except MailerMisconfigured as fault:
        return error(str(fault), "SMTP_URL=smtp+starttls://USER:PASSWORD@HOST:587")
    try:
        socket.create_connection((server.host, server.port), timeout=_CONNECT_S).close()
    except OSError:
        says = (
            f"cannot be reached on port {server.port}; mails wait, and end as dead letters after some hours"
        )
        return error(says, "SMTP_URL=smtp+starttls://USER:PASSWORD@HOST:587, or start it")
    return ok(f"{server.security.value} to port {server.port}")


def mail_from(_system: System) -> Finding:
    """It stands in every mail that is sent."""
    try:
        sender()
    except MailerMisconfigured as fault:
        return error(str(fault), "MAIL_FROM=Name <address@your.domain>")
    return ok("is an address")


def anthropic_key(system: System) -> Finding:
    """A key that was pasted with a line break fails each analysis, hours later."""
    key = system.settings.anthropic_api_key
    if key is None:
        return ok("none; documents are analysed by the local engine")
    value = key.get_secret_value()
    if value != value.strip() or any(sign.isspace() for sign in value):
        return error("has white space in it", "ANTHROPIC_API_KEY=the key, without spaces or line breaks")
    if not value.startswith("sk-ant-") and system.settings.anthropic_base_url is None:
        return warning("does not begin as Anthropic's keys do", "ANTHROPIC_API_KEY=sk-ant-…")
    return ok("is set")


def _public(url: str) -> bool:
    return not _loopback(urlsplit(url).hostname or "")


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
