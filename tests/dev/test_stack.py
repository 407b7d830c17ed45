"""What `make run` decides before it starts anything."""

import json
import stat
from pathlib import Path

import pytest

from config.settings import Settings
from dev import ports
from dev.errors import CannotStart
from dev.run import only_copy
from dev.stack import Stack


@pytest.fixture(autouse=True)
def free_ports(clean_environment: pytest.MonkeyPatch, free_port: int) -> pytest.MonkeyPatch:
    clean_environment.setenv("PORT", str(free_port))
    clean_environment.setenv("FLOWER_PORT", str(ports.preferred(free_port + 1)))
    return clean_environment


def test_secrets_are_made_once_and_kept(tmp_path: Path) -> None:
    first = Stack.plan(tmp_path)
    first.write()
    second = Stack.plan(tmp_path)
    assert second.console_login == first.console_login
    assert second.flower_login == first.flower_login
    assert second.chosen["SECRET_KEY"] == first.chosen["SECRET_KEY"]


def test_what_is_written_is_what_settings_read_and_nobody_else_may_read_it(
    tmp_path: Path, free_ports: pytest.MonkeyPatch
) -> None:
    stack = Stack.plan(tmp_path)
    stack.write()
    file = tmp_path / "development.env"
    settings = Settings(_env_file=file)
    assert (settings.console_username, settings.console_password.get_secret_value()) == stack.console_login
    assert settings.broker_url == f"redis://127.0.0.1:{stack.valkey_port}/0"
    assert settings.smtp_url == f"smtp://127.0.0.1:{stack.smtp_port}"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_configured_server_is_used_and_ours_is_not_started(
    tmp_path: Path, free_ports: pytest.MonkeyPatch
) -> None:
    free_ports.setenv("BROKER_URL", "amqp://queue.test")
    free_ports.setenv("REDIS_URL", "redis://queue.test")
    free_ports.setenv("SMTP_URL", "smtp://mail.test")
    stack = Stack.plan(tmp_path)
    assert (stack.valkey_port, stack.smtp_port, stack.outbox_port) == (None, None, None)
    assert {"BROKER_URL", "SMTP_URL"}.isdisjoint(stack.chosen)


def test_a_configured_login_is_not_replaced(tmp_path: Path, free_ports: pytest.MonkeyPatch) -> None:
    free_ports.setenv("CONSOLE_PASSWORD", "chosen-by-hand")
    free_ports.setenv("FLOWER_BASIC_AUTH", "anna:secret:word")
    stack = Stack.plan(tmp_path)
    assert stack.console_login == ("operator", "chosen-by-hand")
    assert stack.flower_login == ("anna", "secret:word")
    assert {"CONSOLE_PASSWORD", "FLOWER_BASIC_AUTH"}.isdisjoint(stack.chosen)


@pytest.mark.parametrize("setting", ["PORT", "FLOWER_PORT"])
def test_a_taken_port_that_people_open_is_refused_with_the_way_out(
    tmp_path: Path, free_ports: pytest.MonkeyPatch, busy_port: int, setting: str
) -> None:
    free_ports.setenv(setting, str(busy_port))
    with pytest.raises(
        CannotStart, match=rf"port {busy_port} is taken .* {setting}={busy_port + 1} make run"
    ):
        Stack.plan(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_taken_port_that_only_we_use_moves(busy_port: int) -> None:
    moved = ports.preferred(busy_port)
    assert moved != busy_port
    assert ports.is_free(moved)


def test_a_free_port_is_kept(free_port: int) -> None:
    assert ports.preferred(free_port) == free_port


def test_bad_settings_are_named_in_one_line_without_their_values(
    tmp_path: Path, free_ports: pytest.MonkeyPatch
) -> None:
    free_ports.setenv("SMTP_URL", "mail.test:hidden-word")
    free_ports.setenv("LEASE_SECONDS", "-1")
    with pytest.raises(CannotStart) as refusal:
        Stack.plan(tmp_path)
    line = str(refusal.value)
    assert "SMTP_URL must start with" in line
    assert "LEASE_SECONDS" in line
    assert "hidden-word" not in line
    assert "\n" not in line


def test_a_second_copy_is_refused_and_the_lock_goes_with_the_first(tmp_path: Path) -> None:
    with only_copy(tmp_path), pytest.raises(CannotStart, match="already running here"), only_copy(tmp_path):
        pass
    with only_copy(tmp_path):
        assert json.loads((tmp_path / "run.lock").read_text()) > 0
