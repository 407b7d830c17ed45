"""The Procfile, the compose file and the queues agree on who runs what."""

import json
import re
import shlex
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from honcho.environ import parse_procfile

from config.queues import Queue
from tasks.engine.drain import DRAIN

ROOT = Path(__file__).resolve().parents[2]
PROCFILE = {
    name: shlex.split(line)
    for name, line in parse_procfile((ROOT / "Procfile").read_text()).processes.items()
}
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
# Compose calls the release phase by what it does.
SERVICE_OF = {name: "migrate" if name == "release" else name for name in PROCFILE}
OURS = sorted(SERVICE_OF.values())


def queues_of(command: list[str]) -> list[str]:
    return command[command.index("--queues") + 1].split(",") if "--queues" in command else []


def test_the_procfile_names_every_process() -> None:
    expected = {"release", "web", "worker", "worker_images", "worker_ai", "relay", "beat", "flower"}
    assert set(PROCFILE) == expected


def test_web_comes_first_so_that_a_procfile_runner_gives_it_the_announced_port() -> None:
    assert next(iter(PROCFILE)) == "web"


@pytest.mark.parametrize("name", PROCFILE)
def test_compose_runs_the_procfiles_command_as_a_list(name: str) -> None:
    assert SERVICES[SERVICE_OF[name]]["command"] == PROCFILE[name]


@pytest.mark.parametrize("command", PROCFILE.values(), ids=PROCFILE)
def test_each_line_is_one_process_so_that_signals_reach_it(command: list[str]) -> None:
    assert not {"&&", "||", ";", "|", "&", "sh", "bash", "exec"} & set(command)
    assert not any("$" in word for word in command)


def test_some_worker_listens_to_every_declared_queue() -> None:
    served = [queue for command in PROCFILE.values() for queue in queues_of(command)]
    assert sorted(served) == sorted(queue.value for queue in Queue)


def test_the_general_worker_serves_mail_the_rest_and_the_dead_letters() -> None:
    assert set(queues_of(PROCFILE["worker"])) == {"email", "email_bulk", "default", "dead_letter"}


def test_workers_have_different_names_on_one_machine() -> None:
    commands = [command for command in PROCFILE.values() if "worker" in command]
    names = [command[command.index("--hostname") + 1] for command in commands]
    assert len(set(names)) == len(commands) == 3


@pytest.mark.parametrize("name", OURS)
def test_every_process_waits_for_the_one_migrator(name: str) -> None:
    conditions = {other: wait["condition"] for other, wait in SERVICES[name]["depends_on"].items()}
    if name == "migrate":
        assert conditions == {"postgres": "service_healthy", "redis": "service_healthy"}
    else:
        assert conditions == {"migrate": "service_completed_successfully"}


def test_compose_has_no_secret_of_its_own() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    for name in ("SECRET_KEY", "CONSOLE_PASSWORD", "FLOWER_BASIC_AUTH", "POSTGRES_PASSWORD"):
        mentions = re.findall(rf"\$\{{{name}[^}}]*\}}", text)
        assert mentions, name
        assert all(mention.startswith(f"${{{name}:?") for mention in mentions), name


def test_only_the_pages_flower_and_the_outbox_are_published_and_only_to_this_machine() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert set(published) == {"web", "flower", "mailpit"}
    assert all(port.startswith("127.0.0.1:") for group in published.values() for port in group)


def test_the_broker_never_evicts_and_survives_a_restart() -> None:
    command = " ".join(SERVICES["redis"]["command"])
    assert "--maxmemory-policy noeviction" in command
    assert "--appendonly yes" in command


@pytest.mark.parametrize("name", OURS)
def test_compose_sets_only_variables_that_settings_know(name: str) -> None:
    from config.settings import Settings

    known = {field.upper() for field in Settings.model_fields}
    assert set(SERVICES[name]["environment"]) <= known


@pytest.mark.parametrize("name", [name for name in PROCFILE if queues_of(PROCFILE[name])])
def test_a_stopping_worker_may_hand_its_jobs_back_before_it_is_killed(name: str) -> None:
    grace = SERVICES[name]["stop_grace_period"]
    assert grace.endswith("s")
    assert timedelta(seconds=int(grace.rstrip("s"))) > DRAIN + timedelta(seconds=10)


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "migrate"])
def test_every_server_has_a_health_check_of_its_own_kind(name: str) -> None:
    check = " ".join(SERVICES[name]["healthcheck"]["test"])
    expected = {"web": "/readyz", "mailpit": "readyz", "flower": "/healthcheck", "redis": "ping"}
    expected |= {"postgres": "pg_isready", "relay": "flask health relay", "beat": "flask health beat"}
    assert expected.get(name, "flask health queues") in check


@pytest.mark.parametrize("name", [name for name in PROCFILE if queues_of(PROCFILE[name])])
def test_a_worker_is_healthy_while_its_own_queues_are_consumed(name: str) -> None:
    check = SERVICES[name]["healthcheck"]["test"]
    assert check == ["CMD", "flask", "health", "queues", ",".join(queues_of(PROCFILE[name]))]


def test_the_image_holds_every_package_that_runs_in_production_and_no_local_file() -> None:
    let_in = {
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text().split()
        if line.startswith("!")
    }
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
    assert let_in == {*packages, "requirements.txt"} - {"dev"}


def test_the_image_runs_as_somebody_without_rights() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert lines.index("USER app") > lines.index("COPY . .")
    assert json.loads(lines[-1].removeprefix("CMD ")) == PROCFILE["web"]
