"""The account as people read it."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from chaos.account import Violation, expected_end
from chaos.evidence import Evidence, JobFact
from chaos.plan import Act, Item, Kind, Strike, act_of
from db.models.jobs import State

_SHOWN = 30


def show(
    console: Console,
    evidence: Evidence,
    found: Sequence[Violation],
    *,
    struck: Mapping[Strike, int],
    figures: Mapping[str, str],
) -> None:
    """Faults, how the jobs ended, figures, and every violation."""
    console.print(_faults(struck, evidence), _endings(evidence))
    for name, figure in figures.items():
        console.print(f"  {name}: {figure}", highlight=False)
    console.print(
        f"  on record outside the system: {len(evidence.mails)} mails, {len(evidence.deeds)} deeds",
        highlight=False,
    )
    if not found:
        console.print(
            f"\nEach of {len(evidence.items)} accounted for: none lost, none doubled, none unfinished."
        )
        return
    console.print(f"\n{len(found)} violations:", highlight=False)
    by_kind = defaultdict(list)
    for violation in found:
        by_kind[violation.what].append(violation.where)
    for what, places in by_kind.items():
        console.print(f"  {what}: {len(places)}", highlight=False, markup=False)
        for where in places[:_SHOWN]:
            console.print(f"      {where}", highlight=False, markup=False)


def _faults(struck: Mapping[Strike, int], evidence: Evidence) -> Table:
    table = Table("fault", "times", title="What struck")
    for strike in Strike:
        if struck.get(strike):
            table.add_row(strike.value, str(struck[strike]))
    table.add_row("in all", str(sum(struck.values())), end_section=True)
    at_server = Counter(act_of(recipient) for _, recipient in evidence.mails)
    table.add_row("mail server hung up after the final dot", str(at_server[Act.CUT]))
    table.add_row("mail server said yes and hung up", str(at_server[Act.DROP]))
    own = Counter(item.act for item in evidence.items if item.kind is Kind.DEED)
    table.add_row(
        "jobs that kill their process or worker",
        str(own[Act.DIE] + own[Act.DIE_IN_EFFECT] + own[Act.TAKE_DOWN]),
    )
    table.add_row("jobs that outlast their hard limit", str(own[Act.OVERLONG] + own[Act.OVERLONG_ONCE]))
    table.columns[1].justify = "right"
    return table


def _endings(evidence: Evidence) -> Table:
    """One row per way to end."""
    items = {item.number: item for item in evidence.items}
    counts: Counter[tuple[str, str, str]] = Counter()
    for job in evidence.jobs:
        item = items.get(-1 if job.number is None else job.number)
        counts[job.type, *_end(job, item)] += 1
    table = Table("job", "ended", "why", "number", title="How the jobs ended")
    for (type_, end, why), count in sorted(counts.items()):
        table.add_row(type_, end, why, str(count))
    table.columns[3].justify = "right"
    return table


def _end(job: JobFact, item: Item | None) -> tuple[str, str]:
    if job.state == State.SUCCEEDED:
        return "succeeded", "after lost starts" if job.lost_starts else ""
    end = job.letters[0] if job.letters else job.state
    if item is not None and end == expected_end(item):
        return end, "as planned"
    return end, "a start was lost" if job.lost_starts else ""
