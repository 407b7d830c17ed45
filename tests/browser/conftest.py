"""A really running stack, and Chromium to look at it.

`stack`     gunicorn, one worker for every queue, the relay, Valkey and a mail server, on ports and files of this
            session alone.
`visitor`   a page in a fresh browser profile. When the test ends it fails if anything was written to the console
            or if a request left the stack's origin.
`browse`    a callable that opens such a page with options of Playwright's `new_context`.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from config.queues import Queue
from config.settings import Settings
from dev.services import mail_command, valkey_answers, valkey_command
from tests.support.web import answers

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
INSTALL_CHROMIUM = "apt-get install --yes chromium"
# Nothing that phones home, and nothing that a container does not have.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
]
_PATIENCE_MS = 20_000


@dataclass(frozen=True)
class Stack:
    """Where the pages are, and the folder that has one file for each mail sent."""

    address: str
    outbox: Path

    def mails(self) -> list[str]:
        """Every mail so far, as it was sent."""
        return [path.read_text() for path in sorted(self.outbox.glob("*.eml"))]


@dataclass
class Watch:
    """What a page must not do."""

    origin: str
    console: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)

    def over(self, page: Page) -> None:
        """Look at everything that this page does."""
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.on("request", self._asked)

    def _heard(self, kind: str, text: str) -> None:
        # The browser's own note about a form that was refused, as it should be.
        if "status of 422" not in text:
            self.console.append(f"{kind}: {text}")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((f"{self.origin}/", "blob:", "data:")):
            self.elsewhere.append(request.url)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process of pytest-xdist runs all of these (with --dist loadgroup), so that one stack is enough."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Start everything, once for all browser tests of this process."""
    folder = tmp_path_factory.mktemp("stack")
    web, broker, smtp, outbox = _free_ports(4)
    environment = _environment(folder, web=web, broker=broker, smtp=smtp, outbox=outbox)
    with _programs(environment, folder) as start:
        start("mail", *mail_command(smtp, outbox, folder / "outbox"))
        start("valkey", *valkey_command(broker, folder / "valkey"))
        _wait_until(lambda: valkey_answers(broker), "Valkey", folder)
        subprocess.run([BIN / "flask", "migrate"], env=environment, cwd=ROOT, check=True, capture_output=True)
        start("web", f"{BIN}/gunicorn", "--config", "config/gunicorn.py", "app:create_app()")
        start("relay", f"{BIN}/flask", "relay")
        start(
            "worker",
            f"{BIN}/celery",
            "-A",
            "tasks",
            "worker",
            "--queues",
            ",".join(Queue),
            "--concurrency",
            "2",
        )
        _wait_until(lambda: answers(web, "/readyz"), "web", folder)
        _wait_until(lambda: " ready." in (folder / "worker.log").read_text(), "the worker", folder)
        yield Stack(f"http://127.0.0.1:{web}", folder / "outbox")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests; each gets its own profile in it."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail(f"Chromium is not installed: {INSTALL_CHROMIUM}")
        pytest.skip(f"Chromium is not installed; install it with: {INSTALL_CHROMIUM}")
    # Waiting ends as soon as what is waited for is there; a loaded machine needs the time.
    expect.set_options(timeout=_PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def browse(stack: Stack, chromium: Browser) -> Iterator[Callable[..., Page]]:
    """Open pages; afterwards none of them may have complained or asked elsewhere."""
    watch, contexts = Watch(stack.address), []

    def open_page(**options: Any) -> Page:
        context = chromium.new_context(base_url=stack.address, **options)
        contexts.append(context)
        context.set_default_timeout(_PATIENCE_MS)
        page = context.new_page()
        watch.over(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert watch.console == []
    assert watch.elsewhere == []


@pytest.fixture
def visitor(browse: Callable[..., Page]) -> Page:
    """A page, not yet opened anywhere."""
    return browse()


def _environment(folder: Path, *, web: int, broker: int, smtp: int, outbox: int) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if name.lower() not in Settings.model_fields}
    return clean | {
        "ENV_FILE": "",
        "PORT": str(web),
        "PUBLIC_URL": f"http://127.0.0.1:{web}",
        "DATABASE_URL": f"sqlite:///{folder / 'app.db'}",
        "STORAGE_URL": str(folder / "files"),
        "BROKER_URL": f"redis://127.0.0.1:{broker}/0",
        "SMTP_URL": f"smtp://127.0.0.1:{smtp}",
        "OUTBOX_URL": f"http://127.0.0.1:{outbox}",
        "MAX_UPLOAD_BYTES": str(1024 * 1024),
    }


@contextmanager
def _programs(environment: dict[str, str], folder: Path) -> Iterator[Callable[..., None]]:
    """Start programs, each with a log of its own; stop all of them at once."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(name: str, *command: str) -> None:
        with (folder / f"{name}.log").open("wb") as log:
            processes.append(
                subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
            )

    try:
        yield start
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until(true: Callable[[], bool], what: str, folder: Path) -> None:
    deadline = time.monotonic() + 60
    while not true():
        if time.monotonic() > deadline:
            logs = "\n".join(f"{path.name}: {path.read_text()[-2000:]}" for path in folder.glob("*.log"))
            pytest.fail(f"{what} did not start\n{logs}")
        time.sleep(0.05)


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(each.getsockname()[1]) for each in sockets]
