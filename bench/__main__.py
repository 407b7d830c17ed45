"""`python -m bench [NAME …]`: run the measurements named, or all but the long ones, and print one table."""

import sys

from rich.console import Console
from rich.table import Table

from bench import backlog, bulk, door, drain, latency, limits, memory, recovery, scale
from bench.stage import stage

MEASUREMENTS = {
    "drain": drain.measure,
    "bulk": bulk.measure,
    "door": door.measure,
    "latency": latency.measure,
    "limits": limits.measure,
    "memory": memory.measure,
    "recovery": recovery.measure,
    "scale": scale.measure,
}
# Only by name: they take their time.
LONG = {"backlog": backlog.measure}


def main(names: list[str]) -> int:
    """Measure and report; 2 for a name that is none of ours."""
    known = MEASUREMENTS | LONG
    unknown = set(names) - known.keys()
    if unknown:
        print(f"no such measurement: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        return 2
    table = Table("what", "figure", "ratio", "wanted")
    for name in names or MEASUREMENTS:
        with stage() as place:
            for row in known[name](place):
                table.add_row(row.what, row.figure, row.ratio, row.wanted)
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
