"""The one place that reads the environment.

Every name here is documented in `.env.example`. Values come from the process environment first, then
from `.env`, then, except in production, from `var/development.env`, which `make run` writes (ports it chose,
secrets it made).
"""

import os
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from email_validator import validate_email
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    computed_field,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from config.rates import Rate

ROOT = Path(__file__).resolve().parent.parent
VAR = ROOT / "var"
DEVELOPMENT_ENV = VAR / "development.env"

# Known to everybody who can read this file, so production refuses it.
DEVELOPMENT_SECRET = "development-only"  # noqa: S105


def _database_url(url: str) -> str:
    """Name the driver, and make a relative SQLite path mean the same file from every folder."""
    for scheme in ("postgres://", "postgresql://"):
        if url.startswith(scheme):
            return "postgresql+psycopg://" + url.removeprefix(scheme)
    if url.startswith("sqlite:///") and not url.startswith("sqlite:////"):
        return f"sqlite:///{ROOT / url.removeprefix('sqlite:///')}"
    if url.startswith(("sqlite:////", "postgresql+psycopg://")):
        return url
    raise ValueError("DATABASE_URL must start with sqlite:/// or postgresql://")


def _broker_url(url: str) -> str:
    if not url.startswith(("redis://", "rediss://", "amqp://", "amqps://", "sqs://")):
        raise ValueError("BROKER_URL must start with redis://, rediss://, amqp:// or sqs://")
    return url


def _smtp_url(url: str) -> str:
    if not url.startswith(("smtp://", "smtps://", "smtp+starttls://")):
        raise ValueError("SMTP_URL must start with smtp://, smtps:// or smtp+starttls://")
    return url


def _email(address: str) -> str:
    # `.test` stays allowed: development and tests use it (RFC 6761). No name is looked up.
    return validate_email(address, check_deliverability=False, test_environment=True).normalized


def _rate(text: object) -> object:
    return Rate.parse(text) if isinstance(text, str) else text


Email = Annotated[str, AfterValidator(_email)]
Port = Annotated[int, Field(ge=1, le=65_535)]
# Not JSON, which pydantic-settings expects for anything that is no plain type.
Rated = Annotated[Rate, NoDecode, BeforeValidator(_rate)]


class Settings(BaseSettings):
    """All settings, validated and frozen. Raises pydantic.ValidationError naming each bad variable."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="ignore",
        env_ignore_empty=True,
        # What is wrong is told by name: a value may be a password, or hold one.
        hide_input_in_errors=True,
    )

    app_env: Literal["development", "production"] = "development"
    secret_key: SecretStr = SecretStr(DEVELOPMENT_SECRET)
    public_url: str = "http://127.0.0.1:8000"
    port: Port = 8000

    database_url: Annotated[str, AfterValidator(_database_url)] = Field(
        default="sqlite:///var/app.db", validate_default=True
    )
    broker_url: Annotated[str, AfterValidator(_broker_url)] = "redis://127.0.0.1:6479/0"
    redis_url: str | None = None
    storage_url: str = "var/files"

    smtp_url: Annotated[str, AfterValidator(_smtp_url)] = "smtp://127.0.0.1:2525"
    smtp_timeout_seconds: float = Field(default=20, gt=0)
    mail_from: str = "Background jobs <jobs@localhost.test>"
    site_owner_email: Email = "owner@localhost.test"
    # Where people can read what was sent; pages link to it. Only where mail goes to a local sink.
    outbox_url: str | None = None
    alert_email: Email | None = None
    alert_webhook_url: str | None = None

    anthropic_api_key: SecretStr | None = None
    anthropic_base_url: str | None = None
    anthropic_model: str = "claude-sonnet-5-5"

    console_username: str = "operator"
    console_password: SecretStr = SecretStr(DEVELOPMENT_SECRET)
    flower_basic_auth: SecretStr | None = None
    flower_port: Port = 5555
    flower_address: str = "127.0.0.1"
    web_concurrency: int = Field(default=1, gt=0)
    forwarded_allow_ips: str = "127.0.0.1,::1"

    # One request may bring ten such files, and each is held on disk while it comes in.
    max_upload_bytes: int = Field(default=25 * 1024 * 1024, ge=1, le=1024**3)
    lease_seconds: float = Field(default=30, gt=0)
    queue_max_depth: int = Field(default=50_000, gt=0)
    queue_max_age_seconds: float = Field(default=3600, gt=0)
    rate_email_bulk: Rated = Rate.parse("100/m")
    rate_anthropic: Rated = Rate.parse("50/m")
    retention_days: int = Field(default=30, gt=1)
    file_retention_days: int = Field(default=7, gt=0)
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    @computed_field  # type: ignore[prop-decorator]  # mypy #14461: decorated properties
    @property
    def lease(self) -> timedelta:
        """How long a worker may be silent before its jobs are taken over."""
        return timedelta(seconds=self.lease_seconds)

    @property
    def rates(self) -> dict[str, Rate]:
        """The limits that are settings, by rate key. The local engine needs none."""
        rates = {"email_bulk": self.rate_email_bulk}
        return {**rates, "anthropic": self.rate_anthropic} if self.anthropic_api_key else rates

    @property
    def limits_url(self) -> str | None:
        """The Redis that keeps shared limits: REDIS_URL, or the broker itself if it is a Redis."""
        if self.redis_url:
            return self.redis_url
        if self.broker_url.startswith(("redis://", "rediss://")):
            return self.broker_url
        return None

    @model_validator(mode="after")
    def _production_has_its_own_secrets(self) -> Self:
        if self.app_env == "production":
            missing = [
                name.upper()
                for name in ("secret_key", "console_password", "flower_basic_auth")
                if (value := getattr(self, name)) is None
                or value.get_secret_value() in ("", DEVELOPMENT_SECRET)
            ]
            if missing:
                raise ValueError(f"production needs its own {', '.join(missing)}")
        return self


def _env_files() -> tuple[Path, ...]:
    """`ENV_FILE` names one file instead of the two defaults; empty means none (tests use it)."""
    named = os.environ.get("ENV_FILE")
    if named is not None:
        return (Path(named),) if named else ()
    return (DEVELOPMENT_ENV, ROOT / ".env")


def configured() -> Settings:
    """What a person set, without the file `make run` writes; `model_fields_set` names the variables."""
    return Settings(_env_file=tuple(path for path in _env_files() if path != DEVELOPMENT_ENV))


class SettingsInvalid(SystemExit):
    """Ends the process with exit code 1 and one line for each wrong setting, whichever program it is.

    `flask`, `gunicorn` and `celery` print the traceback of any other exception that meets them while they start.
    """

    def __init__(self, error: ValidationError) -> None:
        super().__init__("\n".join(wrong_settings(error)))


def wrong_settings(error: ValidationError) -> list[str]:
    """Each bad variable and what is wrong with it; the values themselves may be secret."""
    return [
        f"{'.'.join(map(str, fault['loc'])).upper() or 'settings'}: {fault['msg'].removeprefix('Value error, ')}"
        for fault in error.errors(include_input=False, include_url=False)
    ]


@cache
def get_settings() -> Settings:
    """The process's settings; raises SettingsInvalid on the first call if one is wrong."""
    try:
        settings = Settings(_env_file=_env_files())
        # The secrets that `make run` made up are no secrets of a production's own.
        return configured() if settings.app_env == "production" else settings
    except ValidationError as error:
        raise SettingsInvalid(error) from None
