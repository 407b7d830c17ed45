"""POST → 202 at the API, against a bare Flask view that calls `apply_async`: both under one gunicorn thread."""

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.stage import Row, Stage, free_port, median, percentile, postgresql_answers
from tests.support.processes import Process, eventually

REQUESTS = 400
ROUNDS = 3
_MAIL = {"template": "welcome", "to": {"email": "ada@example.com", "name": "Ada"}, "context": {"name": "Ada"}}


def measure(stage: Stage) -> list[Row]:
    """Milliseconds per request over a kept connection."""
    bare: list[float] = []
    ours: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        stage.use("sqlite")
        with _server(stage, "bench.bare_view:app") as port:
            bare += _times(port, "/enqueue", {})
        for database in ["sqlite", *(["postgresql"] if postgresql_answers() else [])]:
            stage.use(database)
            token = _token()
            with _server(stage, "app:create_app()") as port:
                ours.setdefault(database, []).extend(
                    _times(port, "/api/v1/emails", {"Authorization": f"Bearer {token}"})
                )
    rows = [Row("bare Flask view with apply_async", _figure(bare))]
    for database, times in ours.items():
        rows.append(
            Row(
                f"POST /api/v1/emails on {database}",
                _figure(times),
                f"{median(times) / median(bare):.1f} × bare",
            )
        )
    return rows


def _figure(times: list[float]) -> str:
    return f"p50 {percentile(times, 0.5) * 1000:.1f} ms, p99 {percentile(times, 0.99) * 1000:.1f} ms"


@contextmanager
def _server(stage: Stage, application: str) -> Iterator[int]:
    port = free_port()
    process = Process(
        ["-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--threads", "1", application],
        stage.folder / "web.log",
    )
    try:
        eventually(lambda: _answers(port), within=30, saying=process.log)
        yield port
    finally:
        process.kill()


def _answers(port: int) -> bool:
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        connection.request("GET", "/healthz")
        connection.getresponse().read()
    except OSError:
        return False
    return True


def _times(port: int, path: str, headers: dict[str, str]) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    body, times = json.dumps(_MAIL), []
    for number in range(REQUESTS):
        began = time.perf_counter()
        connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 202:
            raise RuntimeError(f"{path} answered {answer.status}")
        if number >= REQUESTS // 10:
            times.append(time.perf_counter() - began)
    return times


def _token() -> str:
    from app import create_app

    answer = create_app().test_cli_runner().invoke(args=["tokens", "create", "--name", "bench"])
    return str(answer.output.split()[-1])
