"""Everything that asks for jobs: the API's clients, and a producer in a process of its own."""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from chaos.clients import REPEAT_AFTER_S, Clients
from chaos.plan import Item, Kind
from chaos.records import lines
from config.settings import ROOT
from tests.support.processes import Process

_CLIENT_THREADS = 6


class Asking:
    """Asks for all items, evenly over `seconds`; some are asked for again a while later."""

    def __init__(
        self, items: Sequence[Item], *, address: str, token: str, seconds: float, folder: Path
    ) -> None:
        deeds = [item for item in items if item.kind is Kind.DEED]
        self.deeds = folder / "deeds.record"
        self._produced = folder / "produced.record"
        plan = folder / "deeds.json"
        plan.write_text(json.dumps(_schedule(deeds, seconds)))
        files = [str(plan), str(self._produced), str(self.deeds)]
        self._producer = Process(["-m", "chaos.producer", *files], folder / "producer.log")
        self.clients = Clients(
            address,
            token,
            [item for item in items if item.kind is not Kind.DEED],
            seconds=seconds,
            threads=_CLIENT_THREADS,
        )
        self.clients.start()

    @property
    def finished(self) -> bool:
        """Whether everything was asked for and answered."""
        return self.clients.finished and not self._producer.alive

    def stop(self) -> None:
        """Ask for nothing more."""
        self.clients.stop()
        self._producer.kill()

    def accepted(self) -> dict[int, list[str]]:
        """The jobs that the answers named, by item."""
        found = defaultdict(list, self.clients.accepted)
        for number, job_id in lines(self._produced):
            found[int(number)].append(job_id)
        return found

    def complaints(self) -> list[str]:
        """Answers that no client should get, and a producer that broke."""
        strange = [f"{what}: {count} times" for what, count in self.clients.strange.items()]
        broken = not self._producer.alive and self._producer.ended() != 0
        return [*strange, *(["the producer broke"] if broken else [])]


def _schedule(deeds: Sequence[Item], seconds: float) -> list[tuple[float, int, str]]:
    schedule = []
    for place, item in enumerate(deeds):
        due = seconds * place / len(deeds)
        times = (due, due + REPEAT_AFTER_S) if item.repeated else (due,)
        schedule += [(time, item.number, str(item.act)) for time in times]
    return sorted(schedule)


def new_token() -> str:
    """A token for the API, as an operator makes one."""
    made = subprocess.run(
        [sys.executable, "-m", "flask", "tokens", "create", "--name", "chaos"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout.split()[-1]
