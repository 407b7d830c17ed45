"""`python -m chaos --seed N --jobs 2000 --faults 50`: 0 when every job is accounted for."""

import argparse
import secrets
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from chaos.run import Run, Size

STOPPED = 130


def main() -> int:
    """1 with every violation listed; 130 when a person stopped it."""
    options = _options()
    seed = options.seed if options.seed is not None else secrets.randbelow(100_000)
    console = Console()
    console.print(f"seed {seed} on {options.database} and {options.broker}", highlight=False)
    # What ends a terminal or a container ends the run's programs as well.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(STOPPED))
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    size = Size(options.jobs, options.faults, options.gap, options.patience)
    proven = False
    try:
        run = Run(seed, size, folder, console)
        proven = run.prove(
            database=options.database, broker=options.broker, postgresql_url=options.postgresql_url
        )
    except KeyboardInterrupt:
        console.print("stopped")
        return STOPPED
    finally:
        if proven:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            console.print(f"logs and records: {folder}", highlight=False)
    return 0 if proven else 1


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        prog="chaos", description="Faults strike; then every job is accounted for."
    )
    options.add_argument("--seed", type=int, help="repeat the plan of an earlier run")
    options.add_argument("--jobs", type=int, default=2000)
    options.add_argument("--faults", type=int, default=50)
    options.add_argument("--gap", type=float, default=3.0, help="seconds from one fault to the next")
    options.add_argument("--patience", type=float, default=900, help="seconds that the end may take")
    options.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    options.add_argument("--broker", choices=("valkey", "rabbitmq"), default="valkey")
    options.add_argument("--postgresql-url", default="postgresql://postgres@127.0.0.1:5432/postgres")
    options.add_argument("--short", action="store_true", help="one fault of each kind among 120 jobs")
    chosen = options.parse_args()
    if chosen.short:
        chosen.jobs, chosen.faults, chosen.gap = 120, 12, 1.2
    return chosen


if __name__ == "__main__":
    sys.exit(main())
