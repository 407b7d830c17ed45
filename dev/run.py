"""`make run`: the whole project on this machine, from one command to one Ctrl-C.

A broker and a mail server of its own (unless BROKER_URL or SMTP_URL name others), the database migrated, then
every process of the Procfile. Nothing is left running when it ends, however it ends.
"""

import fcntl
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from honcho.environ import parse_procfile

from config.settings import ROOT, VAR
from dev.errors import CannotStart, ProgramFailed, StopRequested
from dev.services import mail_command, valkey_answers, valkey_command
from dev.stack import Stack
from dev.supervisor import Supervisor
from dev.web import answers

WORKER_READY = "worker is ready"  # what dev.announce prints; importing it here would import Celery
SECONDS_TO_START = 60


def main() -> int:
    """Run until a person stops it (exit code 0) or something fails (1)."""
    try:
        with only_copy(VAR):
            stack = Stack.plan(VAR)
            print("Starting ...", flush=True)
            stack.write()
            run(stack)
    except StopRequested:
        print("\nmake run: everything has stopped.", flush=True)
        return 0
    except (CannotStart, ProgramFailed) as reason:
        print(f"make run: {reason}", file=sys.stderr, flush=True)
        return 1
    return 0


def run(stack: Stack) -> None:
    """Start the stack, say where it is, and pass its output on until it has to stop."""
    environment = child_environment(stack.chosen)
    with Supervisor(output=sys.stdout, environment=environment, folder=ROOT) as supervisor:
        start_services(supervisor, stack)
        start_processes(supervisor, stack)
        supervisor.speak_up()
        supervisor.show(summary(stack))
        supervisor.watch()


def start_services(supervisor: Supervisor, stack: Stack) -> None:
    """The broker and the mail server, where they are ours to start."""
    if stack.smtp_port is not None and stack.outbox_port is not None:
        command = mail_command(stack.smtp_port, stack.outbox_port, stack.folder / "outbox")
        supervisor.start("mail", command, needed=True)
    if (port := stack.valkey_port) is not None:
        supervisor.start("valkey", valkey_command(port, stack.folder / "valkey"), needed=True)
        supervisor.wait_until(lambda: valkey_answers(port), program="valkey", seconds=SECONDS_TO_START)


def start_processes(supervisor: Supervisor, stack: Stack, *, include: Sequence[str] = ()) -> None:
    """The Procfile's processes; returns when web, Flower and each worker answer.

    `include` names further modules for the workers to import.
    """
    commands = procfile()
    # These two touch no table until somebody asks, so they may load while the database is migrated.
    early = {name: commands.pop(name) for name in ("web", "flower")}
    for name, command in early.items():
        supervisor.start(name, command)
    # What the Procfile's release phase does, and the development token.
    del commands["release"]
    supervisor.run("release", [sys.executable, "-m", "dev.prepare", str(stack.token_file)])

    workers = []
    for name, command in commands.items():
        if name.startswith("worker"):
            announced = [*command, "--include", ",".join(("dev.announce", *include))]
            workers.append(supervisor.start(name, announced, ready_text=WORKER_READY))
        else:
            supervisor.start(name, command)
    for worker in workers:
        supervisor.wait_until(worker.is_ready, program=worker.name, seconds=SECONDS_TO_START)
    for name, port, path in (
        ("web", stack.configured.port, "/readyz"),
        ("flower", stack.configured.flower_port, "/healthcheck"),
    ):
        supervisor.wait_until(partial(answers, port, path), program=name, seconds=SECONDS_TO_START)


def procfile() -> dict[str, list[str]]:
    """The Procfile's commands by name, split as a shell would; each is one process."""
    lines = parse_procfile((ROOT / "Procfile").read_text()).processes
    return {name: shlex.split(line) for name, line in lines.items()}


def child_environment(chosen: Mapping[str, str]) -> dict[str, str]:
    """Our environment, what was chosen, and the programs of this virtual environment first on the path."""
    here = str(Path(sys.executable).parent)
    path = os.pathsep.join((here, os.environ.get("PATH", os.defpath)))
    return {**os.environ, **chosen, "PATH": path, "PYTHONUNBUFFERED": "1"}


def summary(stack: Stack) -> str:
    """What a person needs now: addresses, logins, the token, and how to stop."""
    configured = stack.configured
    lines = {"Pages": stack.address, "Console": f"{stack.address}/console  (%s / %s)" % stack.console_login}
    lines["Flower"] = f"http://127.0.0.1:{configured.flower_port}  (%s / %s)" % stack.flower_login
    if stack.outbox_port is not None:
        lines["Outbox"] = f"http://127.0.0.1:{stack.outbox_port}  every mail sent, delivered to nobody"
    lines["API token"] = stack.token_file.read_text().strip()
    width = max(map(len, lines)) + 2
    body = "\n".join(f"  {name:<{width}}{value}" for name, value in lines.items())
    return f"\nReady.\n\n{body}\n\n  Ctrl-C stops everything.\n"


@contextmanager
def only_copy(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; raise CannotStart if another copy does. The kernel frees it with the process."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "run.lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise CannotStart(f"already running here (process {lock.read().strip() or '?'})") from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


if __name__ == "__main__":
    sys.exit(main())
