"""`make demo`: the stack on ports and files of its own, one of each job through it, and what became of them.

Nothing configured on this machine is used: no real broker, mail server, database or API key.
"""

import os
import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.live import Live

from config.settings import ROOT, VAR, Settings
from db.models.jobs import State
from dev import ports
from dev.demo_board import Board, Row
from dev.demo_client import Client
from dev.errors import CannotStart, ProgramFailed, StopRequested
from dev.run import child_environment, only_copy, start_processes, start_services
from dev.stack import Stack
from dev.supervisor import Supervisor

FOLDER = VAR / "demo"
TO = "ada@example.test"
WIDTH = 100  # columns, where no terminal says otherwise


def main() -> int:
    """0 when every job came to what it should."""
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    try:
        with only_copy(FOLDER):
            start_afresh(FOLDER)
            isolate(FOLDER)
            return demonstrate(Stack.plan(FOLDER), console)
    except StopRequested:
        console.print("make demo: stopped.")
        return 130
    except (CannotStart, ProgramFailed) as reason:
        print(f"make demo: {reason}", file=sys.stderr, flush=True)
        return 1


def demonstrate(stack: Stack, console: Console) -> int:
    """Start the stack, drive the jobs through it and report."""
    console.print("Starting the stack on ports of its own ...")
    environment = child_environment(stack.chosen)
    os.environ.update(environment)  # this process looks into the same database
    with Supervisor(output=sys.stdout, environment=environment, folder=ROOT) as supervisor:
        start_services(supervisor, stack)
        start_processes(supervisor, stack, include=["dev.demo_jobs"])
        board = Board()
        client = Client(stack.address, stack.token_file.read_text().strip())
        submit(board, client)
        client.close()
        with Live(console=console, auto_refresh=False) as live:

            def finished() -> bool:
                board.look()
                live.update(board.table(), refresh=True)
                return board.finished

            supervisor.wait_until(finished, program="worker", seconds=90)
        return report(board, stack, console)


def submit(board: Board, client: Client) -> None:
    """One of each kind, a duplicate, a flaky one and a poison one."""
    from dev.demo_jobs import SUCCEEDS_ON_ATTEMPT, Nothing, flaky, poison  # settings have to be read first
    from tasks.engine.verdict import MAX_LOSSES

    board.rows += [
        Row("e-mail", client.email(TO, key="demo")),
        Row("the same e-mail again", client.email(TO, key="demo")),
        Row("image in three widths", client.image()),
        Row("document, summarised", client.document()),
        Row("flaky: fails twice", flaky.delay(Nothing()).id, attempts=SUCCEEDS_ON_ATTEMPT),
        Row("poison: kills its worker", poison.delay(Nothing()).id, State.DEAD, attempts=MAX_LOSSES),
    ]


def report(board: Board, stack: Stack, console: Console) -> int:
    """Say what was to be shown and whether it was."""
    mails = len(list((stack.folder / "outbox").glob("*.eml")))
    first, again = board.rows[0].job_id, board.rows[1].job_id
    shown = {
        "Every job ended as it should": all(row.as_expected for row in board.rows),
        "The repeated request was answered with the first one's job": first == again,
        f"One mail arrived for two requests (arrived: {mails})": mails == 1,
        "The poison job is a dead letter after three workers, which were replaced": board.rows[
            -1
        ].as_expected,
    }
    console.print()
    for claim, holds in shown.items():
        console.print(f"  {'yes' if holds else 'NO '}  {claim}", highlight=False)
    console.print(f"\n{sum(shown.values())} of {len(shown)} as promised.", highlight=False)
    return 0 if all(shown.values()) else 1


def start_afresh(folder: Path) -> None:
    """Remove what the last demo left."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "run.lock":
            path.unlink()


def isolate(folder: Path) -> None:
    """Give this process, and so every program it starts, an environment without anybody's settings."""
    for name in Settings.model_fields:
        os.environ.pop(name.upper(), None)
    port = ports.preferred(8100)
    os.environ.update(
        ENV_FILE="",
        PORT=str(port),
        FLOWER_PORT=str(ports.preferred(8155)),
        DATABASE_URL=f"sqlite:///{folder}/app.db",
        STORAGE_URL=str(folder / "files"),
        LOG_LEVEL="WARNING",
    )


if __name__ == "__main__":
    sys.exit(main())
