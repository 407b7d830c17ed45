"""One run, from an empty folder to the account."""

import os
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from chaos.account import violations
from chaos.asking import Asking, new_token
from chaos.brokers import Broker, own_broker
from chaos.databases import Database, own_database
from chaos.evidence import Evidence, read_jobs, read_keys, read_strangers, unfinished
from chaos.faults import Faults
from chaos.plan import Plan, make_plan
from chaos.programs import Programs
from chaos.records import lines
from chaos.report import show
from config.settings import Settings
from db.engine import build_engine
from db.migrate import migrate
from dev.ports import LOOPBACK
from dev.web import answers
from tests.support.processes import Process, eventually

LEASE_S = 3
_START_S = 120
_SAY_EVERY_S = 10


@dataclass(frozen=True)
class Size:
    """How much, how fast. `gap_s` lies between two faults, and jobs come in as long as they strike;
    `patience_s` is how long everything may take after the last one."""

    jobs: int
    faults: int
    gap_s: float
    patience_s: float


class Run:
    """The system under test, its clients, and what they left in `folder`."""

    def __init__(self, seed: int, size: Size, folder: Path, console: Console) -> None:
        self._seed, self._size, self._folder, self._console = seed, size, folder, console
        self._mails = folder / "mails.record"

    def prove(self, *, database: str, broker: str, postgresql_url: str) -> bool:
        """Start, strike, wait, account; True when nothing was violated."""
        with ExitStack() as stack:
            own = stack.enter_context(own_database(database, self._folder, postgresql_url))
            messages = stack.enter_context(own_broker(broker, self._folder))
            self._configure(own, messages)
            engine = build_engine(own.url.replace("postgresql://", "postgresql+psycopg://"))
            stack.callback(engine.dispose)
            migrate(engine)
            return self._strike_and_account(stack, own, messages, engine)

    def _configure(self, database: Database, broker: Broker) -> None:
        """Nothing of this machine's settings; the programs inherit what this process has."""
        for name in Settings.model_fields:
            os.environ.pop(name.upper(), None)
        self._port, self._smtp_port = _free_port(), _free_port()
        os.environ.update(
            ENV_FILE="",
            PORT=str(self._port),
            WEB_CONCURRENCY="2",
            DATABASE_URL=database.url,
            BROKER_URL=broker.url,
            STORAGE_URL=str(self._folder / "files"),
            SMTP_URL=f"smtp://{LOOPBACK}:{self._smtp_port}",
            LEASE_SECONDS=str(LEASE_S),
        )

    def _strike_and_account(
        self, stack: ExitStack, database: Database, broker: Broker, engine: Engine
    ) -> bool:
        began = time.monotonic()
        plan = make_plan(self._seed, jobs=self._size.jobs, faults=self._size.faults, strikes=broker.strikes)
        programs = self._start(stack)
        asking = Asking(
            plan.items,
            address=f"http://{LOOPBACK}:{self._port}",
            token=self._token,
            seconds=self._size.gap_s * len(plan.faults),
            folder=self._folder,
        )
        stack.callback(asking.stop)
        faults = Faults(programs, broker, database, asking.clients, lease_s=LEASE_S)
        first = time.monotonic()
        self._strike(plan, faults)
        last = time.monotonic()
        settled = self._wait(lambda: asking.finished and _unfinished(engine) == 0, engine, asking)
        ended = time.monotonic()
        asking.clients.stop()
        evidence = self._collect(plan, engine, programs, asking)
        found = violations(evidence)
        figures = {
            "seed": f"{self._seed}",
            "from the first fault to the last": f"{last - first:.0f} s",
            "from there to the last job's end": f"{ended - last:.0f} s{'' if settled else ', given up'}",
            "in all": f"{ended - began:.0f} s",
            "programs started again": f"{programs.restarts}",
            "requests that had to be repeated": f"{asking.clients.repeats}",
            "messages delivered twice": f"{faults.copies}",
        }
        show(self._console, evidence, found, struck=faults.struck, figures=figures)
        return not found

    def _strike(self, plan: Plan, faults: Faults) -> None:
        began = time.monotonic()
        for fault in plan.faults:
            time.sleep(self._size.gap_s)
            self._say(f"{time.monotonic() - began:6.1f} s  {fault.strike}")
            faults.strike(fault)
        faults.end()

    def _collect(self, plan: Plan, engine: Engine, programs: Programs, asking: Asking) -> Evidence:
        return Evidence(
            items=plan.items,
            jobs=read_jobs(engine),
            accepted=asking.accepted(),
            keys=read_keys(engine),
            mails=[(message_id, recipient) for message_id, recipient in lines(self._mails)],
            deeds=[(int(number), job_id) for number, job_id in lines(asking.deeds)],
            strangers=read_strangers(engine),
            complaints=[*programs.gave_up, *asking.complaints()],
        )

    def _start(self, stack: ExitStack) -> Programs:
        """The mail server and the system, ready to work."""
        options = ["--port", str(self._smtp_port), "--record", str(self._mails)]
        mail = Process(["-m", "chaos.mail", *options], self._folder / "mail.log")
        stack.callback(mail.kill)
        mail.printed("smtp://")
        programs = stack.enter_context(Programs(self._folder))
        self._token = new_token()
        eventually(lambda: answers(self._port, "/healthz"), within=_START_S)
        for worker in programs.workers:
            worker.process.printed(" ready.")
        return programs

    def _wait(self, condition: Callable[[], bool], engine: Engine, asking: Asking) -> bool:
        """Look until it holds; False when patience ends."""
        deadline = time.monotonic() + self._size.patience_s
        say_at = time.monotonic() + _SAY_EVERY_S
        while not condition():
            if time.monotonic() > deadline:
                return False
            if time.monotonic() > say_at:
                say_at += _SAY_EVERY_S
                unanswered = "" if asking.finished else ", not everything asked for"
                self._say(f"          {_unfinished(engine)} jobs unfinished{unanswered}")
            time.sleep(0.25)
        return True

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False)


def _free_port() -> int:
    """Not one that another run would prefer as well."""
    with socket.create_server((LOOPBACK, 0)) as server:
        return int(server.getsockname()[1])


def _unfinished(engine: Engine) -> int:
    """-1 while the database is away, which is not zero."""
    try:
        return unfinished(engine)
    except DBAPIError:
        return -1
