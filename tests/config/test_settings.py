"""Settings: read once, typed, and refused by name when they cannot work."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

import config.settings as settings_module
from config.rates import Rate
from config.settings import DEVELOPMENT_SECRET, ROOT, Settings, SettingsInvalid

SECRETS = {"SECRET_KEY": "a" * 40, "CONSOLE_PASSWORD": "b" * 40, "FLOWER_BASIC_AUTH": "c:d"}
Configure = Callable[..., Settings]


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("postgres://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("postgresql://u:p@h/d", "postgresql+psycopg://u:p@h/d"),
        ("sqlite:////tmp/app.db", "sqlite:////tmp/app.db"),
        ("sqlite:///var/app.db", f"sqlite:///{ROOT / 'var/app.db'}"),
    ],
)
def test_a_database_url_names_its_driver_and_means_the_same_from_every_folder(
    configure: Configure, url: str, meant: str
) -> None:
    assert configure(DATABASE_URL=url).database_url == meant


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "mysql://u@h/d"),
        ("BROKER_URL", "http://h"),
        ("SMTP_URL", "h:25"),
        ("RATE_EMAIL_BULK", "0/m"),
        ("RATE_EMAIL_BULK", "ten a minute"),
        ("LEASE_SECONDS", "0"),
        ("SITE_OWNER_EMAIL", "nobody"),
        ("APP_ENV", "staging"),
        ("PORT", "eighty"),
        ("PORT", "0"),
        ("PORT", "65536"),
        ("FLOWER_PORT", "65536"),
        ("MAX_UPLOAD_BYTES", "0"),
        ("MAX_UPLOAD_BYTES", str(2 * 1024**3)),
    ],
)
def test_what_cannot_work_is_refused_by_name(configure: Configure, name: str, value: str) -> None:
    with pytest.raises(SettingsInvalid) as refusal:
        configure(**{name: value})
    (line,) = str(refusal.value).splitlines()
    assert line.startswith(f"{name}: ")


def test_each_wrong_setting_has_its_line(configure: Configure) -> None:
    with pytest.raises(SettingsInvalid) as refusal:
        configure(LEASE_SECONDS="abc", BROKER_URL="nonsense")
    assert [line.split(":")[0] for line in str(refusal.value).splitlines()] == ["BROKER_URL", "LEASE_SECONDS"]


def test_no_wrong_value_is_told(configure: Configure) -> None:
    with pytest.raises(SettingsInvalid) as refusal:
        configure(BROKER_URL="http://user:S3CR3T@h", LEASE_SECONDS="S3CR3T")
    assert "S3CR3T" not in str(refusal.value)


def test_settings_cannot_be_changed(settings: Settings) -> None:
    with pytest.raises(ValidationError):
        settings.port = 1  # type: ignore[misc]  # that is what is refused


@pytest.mark.parametrize("missing", SECRETS)
@pytest.mark.parametrize("value", ["", DEVELOPMENT_SECRET])
def test_production_refuses_to_start_on_development_secrets(
    configure: Configure, missing: str, value: str
) -> None:
    with pytest.raises(SettingsInvalid, match=missing):
        configure(APP_ENV="production", **{**SECRETS, missing: value})


def test_production_starts_on_secrets_of_its_own(configure: Configure) -> None:
    assert configure(APP_ENV="production", **SECRETS).app_env == "production"


def test_production_takes_no_secrets_from_the_file_that_make_run_writes(
    configure: Configure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    written = tmp_path / "development.env"
    written.write_text("\n".join(f"{name}={secret}" for name, secret in SECRETS.items()))
    monkeypatch.setattr(settings_module, "DEVELOPMENT_ENV", written)
    assert configure(ENV_FILE=written).secret_key == SecretStr(SECRETS["SECRET_KEY"])
    with pytest.raises(SettingsInvalid, match="production needs its own SECRET_KEY"):
        configure(APP_ENV="production", ENV_FILE=written)


def test_secrets_do_not_show(configure: Configure) -> None:
    shown = repr(configure(**SECRETS, ANTHROPIC_API_KEY="sk-hidden"))
    assert not any(secret in shown for secret in (*SECRETS.values(), "sk-hidden"))
    assert isinstance(configure().secret_key, SecretStr)


def test_an_empty_variable_is_an_unset_one(configure: Configure) -> None:
    settings = configure(REDIS_URL="", ALERT_EMAIL="")
    assert (settings.redis_url, settings.alert_email) == (None, None)


def test_the_limits_live_in_the_broker_unless_it_is_no_redis(configure: Configure) -> None:
    assert configure(BROKER_URL="redis://h/0").limits_url == "redis://h/0"
    assert configure(BROKER_URL="amqp://h", REDIS_URL="redis://r/1").limits_url == "redis://r/1"
    assert configure(BROKER_URL="amqp://h", REDIS_URL="").limits_url is None


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("10/s", Rate(10, timedelta(seconds=1))),
        ("50/m", Rate(50, timedelta(minutes=1))),
        (" 100/h ", Rate(100, timedelta(hours=1))),
    ],
)
def test_a_rate_is_read_as_celery_writes_it(text: str, rate: Rate) -> None:
    assert Rate.parse(text) == rate


@pytest.mark.parametrize("text", ["", "10", "0/m", "-1/m", "1.5/m", "10/d", "10/m/m", "m/10"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a rate"):
        Rate.parse(text)
