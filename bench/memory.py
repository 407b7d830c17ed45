"""What the whole idle stack takes, as `make run` starts it."""

import psutil

from bench.stage import Row, Stage, free_port
from tests.support.processes import Process, eventually


def measure(stage: Stage) -> list[Row]:
    """Proportional set size: a page that several processes share is counted once."""
    port = free_port()
    stack = Process(
        ["-m", "dev.run"],
        stage.folder / "stack.log",
        ENV_FILE="",
        PORT=port,
        FLOWER_PORT=free_port(),
        DATABASE_URL=f"sqlite:///{stage.folder / 'idle.db'}",
    )
    try:
        eventually(lambda: str(port) in stack.log() and "Ctrl-C" in stack.log(), within=90, saying=stack.log)
        processes = [psutil.Process(pid) for pid in stack.children()]
        megabytes = sum(process.memory_full_info().pss for process in processes) / 1e6
        return [Row(f"idle stack, {len(processes)} processes", f"{megabytes:,.0f} MB")]
    finally:
        stack.kill()
