"""/healthz, /readyz, /metrics."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import redis
from flask import Flask
from prometheus_client.parser import text_string_to_metric_families

from app import create_app
from app.operations.readiness import Probe, answer
from config.queues import Queue
from config.settings import Settings
from tasks.engine import broker as broker_questions
from tasks.engine.publisher import BrokerUnavailable
from tests.support.brokers import own_valkey
from tests.support.databases import on_both_databases
from tests.support.web import Client

Headers = dict[str, str]
Configure = Callable[..., Settings]
MAIL = {"template": "welcome", "to": {"email": "ada@example.test"}, "context": {"name": "Ada"}}


def figure(text: str, name: str, **labels: str) -> float:
    """The one sample with this name and at least these labels."""
    (value,) = (
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )
    return float(value)


@on_both_databases
@pytest.mark.usefixtures("broker")
def test_it_is_ready_with_a_migrated_database_and_a_broker(client: Client) -> None:
    response = client.get("/readyz")
    assert (response.status_code, response.json["ready"], response.json["missing"]) == (200, True, {})


def test_without_a_broker_it_is_not_ready_says_so_and_recovers(
    client: Client, configure: Callable[..., Settings], valkey: str
) -> None:
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json["missing"] == {"broker": "cannot be reached"}
    assert client.get("/healthz").status_code == 200
    configure(BROKER_URL=valkey)
    assert client.get("/readyz").status_code == 200


@pytest.mark.usefixtures("broker")
def test_without_a_database_it_is_not_ready_and_says_so(
    configure: Callable[..., Settings], client: Client
) -> None:
    configure(DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    assert client.get("/readyz").json["missing"] == {"database": "cannot be reached"}
    assert client.get("/healthz").status_code == 200


@pytest.mark.usefixtures("configure")
def test_without_migrations_it_is_not_ready_and_says_what_to_do() -> None:
    missing = Client(create_app()).get("/readyz").json["missing"]
    assert missing["database"] == "is not migrated: run `flask migrate`"


def test_something_that_hangs_is_asked_once_and_not_waited_for() -> None:
    asked: list[int] = []

    def hang() -> str:
        asked.append(1)
        time.sleep(3)
        return "late"

    probe, by = Probe(hang), time.monotonic() + 1
    assert [answer(probe.begin(), by, otherwise="none") for _ in range(2)] == ["none"] * 2
    assert asked == [1]


def test_a_broker_that_refuses_is_unavailable(configure: Callable[..., Settings]) -> None:
    with pytest.raises(BrokerUnavailable):
        broker_questions.ping(0.5)


@pytest.mark.parametrize(
    ("setting", "refuses", "accepts"),
    [("maxmemory", "1", "0"), ("min-replicas-to-write", "1", "0")],
)
def test_a_redis_that_refuses_writes_is_not_ready(
    client: Client, broker: str, setting: str, refuses: str, accepts: str
) -> None:
    with redis.Redis.from_url(broker) as server:
        server.config_set(setting, refuses)
        try:
            response = client.get("/readyz")
        finally:
            server.config_set(setting, accepts)
    assert (response.status_code, response.json["missing"]) == (503, {"broker": "refuses writes"})


def test_a_redis_that_is_a_replica_is_not_ready(client: Client, tmp_path: Path, configure: Configure) -> None:
    with own_valkey(tmp_path) as server:
        configure(BROKER_URL=server.url)
        server.client.replicaof("127.0.0.1", 1)
        assert client.get("/readyz").json["missing"] == {"broker": "refuses writes"}


def test_the_broker_counts_its_messages(client: Client, token: Callable[..., Headers], broker: str) -> None:
    client.post("/api/v1/emails", json=MAIL, headers=token())
    client.post("/api/v1/emails", json=MAIL | {"priority": "high"}, headers=token())
    found = broker_questions.depths()
    assert (found[Queue.EMAIL], found[Queue.AI]) == (2, 0)


@on_both_databases
def test_figures_come_from_the_ledger(
    client: Client,
    token: Callable[..., Headers],
    finish: Callable[..., None],
    bury: Callable[..., str],
) -> None:
    headers = token()
    ids = [client.post("/api/v1/emails", json=MAIL, headers=headers).json["job"]["id"] for _ in range(4)]
    finish(ids[0])
    bury(ids[1])
    text, mail = client.get("/metrics").text, {"queue": "email", "type": "emails.send_email"}
    assert figure(text, "jobs_unfinished", state="queued", **mail) == 2
    assert figure(text, "jobs_oldest_queued_age_seconds", **mail) > 0
    assert figure(text, "dead_letters_open", **mail) == 1
    assert figure(text, "jobs_last_hour", state="succeeded", **mail) == 1
    assert figure(text, "job_failed_attempts_last_hour", **mail) == 1
    assert figure(text, "job_failure_ratio_last_hour", **mail) == 0.5
    assert figure(text, "job_run_seconds_mean", **mail) >= 0
    assert figure(text, "broker_up") == 0
    assert figure(text, "jobs_unfinished", state="queued", queue="images") == 0


def test_a_pause_is_a_figure(client: Client, token: Callable[..., Headers]) -> None:
    client.post("/api/v1/queues/ai/pause", headers=token("operate"))
    text = client.get("/metrics").text
    assert (figure(text, "queue_paused", queue="ai"), figure(text, "queue_paused", queue="email")) == (1, 0)


@pytest.mark.usefixtures("database")
def test_in_production_figures_are_for_operators(
    configure: Callable[..., Settings], token: Callable[..., Headers]
) -> None:
    configure(APP_ENV="production", SECRET_KEY="a", CONSOLE_PASSWORD="b", FLOWER_BASIC_AUTH="c:d")
    app: Flask = create_app()
    assert Client(app).get("/metrics").status_code == 401
    assert Client(app).get("/metrics", headers=token("submit")).status_code == 403
    assert Client(app).get("/metrics", headers=token("operate")).status_code == 200
