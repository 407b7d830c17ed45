"""One run, from an empty folder to the account."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from chaos.account import violations
from chaos.brokers import Broker, own_broker
from chaos.clients import REPEAT_AFTER_S, Clients
from chaos.databases import Database, own_database
from chaos.evidence import Evidence, read_jobs, read_keys, read_strangers, unfinished
from chaos.faults import Faults
from chaos.plan import Kind, Plan, make_plan
from chaos.programs import Programs
from chaos.records import lines
from chaos.report import show
from config.settings import ROOT, Settings
from db.engine import build_engine
from db.migrate import migrate
from dev import ports
from dev.web import answers
from tests.support.processes import Process, eventually

LEASE_S = 3
_CLIENT_THREADS = 6


@dataclass(frozen=True)
class Size:
    """How much, how fast. `gap_s` lies between two faults; jobs come in as long as they strike."""

    jobs: int
    faults: int
    gap_s: float
    # How long everything may take after the last fault.
    patience_s: float


class Run:
    """The system under test, its clients, and what they left."""

    def __init__(self, seed: int, size: Size, folder: Path, console: Console) -> None:
        self._seed, self._size, self._folder, self._console = seed, size, folder, console
        self._records = {name: folder / f"{name}.record" for name in ("mails", "deeds", "produced")}

    def prove(self, database_kind: str, broker_kind: str, postgresql_url: str) -> bool:
        """Start, strike, wait, account; True when nothing was violated."""
        with ExitStack() as stack:
            broker = stack.enter_context(own_broker(broker_kind, self._folder))
            database = stack.enter_context(own_database(database_kind, self._folder, postgresql_url))
            self._plan: Plan = make_plan(
                self._seed, jobs=self._size.jobs, faults=self._size.faults, strikes=broker.strikes
            )
            self._configure(broker, database)
            engine = build_engine(database.url.replace("postgresql://", "postgresql+psycopg://"))
            stack.callback(engine.dispose)
            migrate(engine)
            return self._strike_and_account(stack, broker, database, engine)

    def _configure(self, broker: Broker, database: Database) -> None:
        """Nothing of this machine's settings; the programs inherit what this process has."""
        for name in Settings.model_fields:
            os.environ.pop(name.upper(), None)
        self._port, smtp_port = ports.preferred(8200), ports.preferred(2526)
        os.environ.update(
            ENV_FILE="",
            PORT=str(self._port),
            WEB_CONCURRENCY="2",
            DATABASE_URL=database.url,
            BROKER_URL=broker.url,
            STORAGE_URL=str(self._folder / "files"),
            SMTP_URL=f"smtp://127.0.0.1:{smtp_port}",
            LEASE_SECONDS=str(LEASE_S),
            LOG_LEVEL="INFO",
        )
        self._smtp_port = smtp_port

    def _strike_and_account(
        self, stack: ExitStack, broker: Broker, database: Database, engine: Engine
    ) -> bool:
        began = time.monotonic()
        self._start("mail", "-m", "chaos.mail", *self._mail_options(), stack=stack).printed("smtp://")
        programs = stack.enter_context(Programs(self._folder))
        eventually(lambda: answers(self._port, "/healthz"), within=90)
        for role in programs.workers:
            role.process.printed(" ready.")
        clients, producer = self._ask_for_jobs(stack)
        faults = Faults(programs, broker, database, clients, lease_s=LEASE_S)
        struck_from = time.monotonic()
        for fault in self._plan.faults:
            time.sleep(self._size.gap_s)
            self._say(f"{time.monotonic() - struck_from:6.1f} s  {fault.strike}")
            faults.strike(fault)
        faults.end()
        last_fault = time.monotonic()
        settled = self._wait(
            lambda: clients.finished and not producer.alive and _count(engine) == 0, engine, clients
        )
        finished = time.monotonic()
        clients.stop()
        evidence = self._collect(engine, clients, producer, programs)
        found = violations(evidence)
        figures = {
            "seed": str(self._seed),
            "from the first fault to the last": f"{last_fault - struck_from:.0f} s",
            "from the last fault to the last job's end": f"{finished - last_fault:.0f} s"
            + ("" if settled else " (gave up)"),
            "in all": f"{finished - began:.0f} s",
            "programs started again": str(programs.restarts),
            "requests that had to be repeated": str(clients.repeats),
            "messages delivered twice": str(faults.copies),
            "mails at the server": str(len(evidence.mails)),
            "deeds on record": str(len(evidence.deeds)),
        }
        show(self._console, evidence, found, struck=faults.struck, figures=figures)
        return not found

    def _ask_for_jobs(self, stack: ExitStack) -> tuple[Clients, Process]:
        over = self._size.gap_s * len(self._plan.faults)
        wanted = [item for item in self._plan.items if item.kind is Kind.DEED]
        path = self._folder / "deeds.json"
        asked = [(over * place / len(wanted), item.number, item.act) for place, item in enumerate(wanted)]
        again = [
            (due + REPEAT_AFTER_S, number, act)
            for (due, number, act), item in zip(asked, wanted, strict=True)
            if item.repeated
        ]
        path.write_text(json.dumps(sorted(asked + again)))
        records = [str(self._records["produced"]), str(self._records["deeds"])]
        producer = self._start("producer", "-m", "chaos.producer", str(path), *records, stack=stack)
        clients = Clients(
            f"http://127.0.0.1:{self._port}",
            self._token(),
            [item for item in self._plan.items if item.kind is not Kind.DEED],
            seconds=over,
            threads=_CLIENT_THREADS,
        )
        clients.start()
        stack.callback(clients.stop)
        return clients, producer

    def _collect(self, engine: Engine, clients: Clients, producer: Process, programs: Programs) -> Evidence:
        accepted = {number: list(ids) for number, ids in clients.accepted.items()}
        for number, job_id in lines(self._records["produced"]):
            accepted.setdefault(int(number), []).append(job_id)
        complaints = [
            *programs.gave_up,
            *(f"{what}: {count} times" for what, count in clients.strange.items()),
        ]
        if producer.alive or producer.ended():
            complaints.append("the producer did not come to its end")
        return Evidence(
            items=self._plan.items,
            jobs=read_jobs(engine),
            accepted=accepted,
            keys=read_keys(engine),
            mails=[(message_id, recipient) for message_id, recipient in lines(self._records["mails"])],
            deeds=[(int(number), job_id) for number, job_id in lines(self._records["deeds"])],
            strangers=read_strangers(engine),
            complaints=complaints,
        )

    def _wait(self, condition: Callable[[], bool], engine: Engine, clients: Clients) -> bool:
        deadline = time.monotonic() + self._size.patience_s
        said = 0.0
        while not condition():
            if time.monotonic() > deadline:
                return False
            if time.monotonic() - said > 10:
                said = time.monotonic()
                self._say(
                    f"waiting: {_count(engine)} jobs unfinished, {len(clients.accepted)} requests accepted"
                    + "".join(f"; {what}: {count} times" for what, count in clients.strange.items())
                )
            time.sleep(0.25)
        return True

    def _start(self, name: str, *command: str, stack: ExitStack) -> Process:
        process = Process(command, self._folder / f"{name}.log")
        stack.callback(process.kill)
        return process

    def _mail_options(self) -> list[str]:
        return ["--port", str(self._smtp_port), "--record", str(self._records["mails"])]

    def _token(self) -> str:
        made = subprocess.run(
            [sys.executable, "-m", "flask", "tokens", "create", "--name", "chaos"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        return made.stdout.split()[-1]

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False)


def _count(engine: Engine) -> int:
    """-1 while the database is away, which is not zero."""
    try:
        return unfinished(engine)
    except DBAPIError:
        return -1
