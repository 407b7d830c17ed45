"""The account: every item, every job, every mail. What does not add up is a violation.

Nothing here runs or reads anything, so it can be shown that it finds what it is there to find.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from chaos.evidence import Evidence, JobFact
from chaos.plan import Act, Item, Kind
from db.models.jobs import FINAL, State
from tasks.engine.announce import ALERT
from tasks.engine.verdict import MAX_LOSSES

UNKNOWN = "outcome_unknown"
# The reason with which an act ends badly, when nothing else strikes. The others succeed.
_BAD_END = {
    Act.CUT: UNKNOWN,
    Act.REFUSE: "permanent",
    Act.BREAK: "bug",
    Act.DIE: "worker_lost",
    Act.TAKE_DOWN: "worker_lost",
    Act.DIE_IN_EFFECT: UNKNOWN,
    Act.OVERLONG: "retries_exhausted",
}
# Work that is guarded against being done twice; the rest may safely be repeated.
_GUARDED = (Kind.EMAIL, Kind.DEED)


@dataclass(frozen=True)
class Violation:
    """Something that was promised and did not hold; `where` names the item, job or mail."""

    what: str
    where: str


def violations(evidence: Evidence) -> list[Violation]:
    """All of them; an empty list is the proof."""
    account = Account(evidence)
    return [
        *account.items(),
        *account.jobs(),
        *account.mails(),
        *account.deeds(),
        *(Violation(complaint, "-") for complaint in evidence.complaints),
        *([Violation("messages became unreadable", f"{evidence.strangers}")] if evidence.strangers else []),
    ]


class Account:
    """The rules, over one run's evidence."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._items = {item.number: item for item in evidence.items}
        self._jobs = {job.id: job for job in evidence.jobs}
        self._by_item: dict[int, list[JobFact]] = defaultdict(list)
        for job in evidence.jobs:
            if job.number is not None:
                self._by_item[job.number].append(job)

    def items(self) -> Iterator[Violation]:
        """Each was accepted, under one key, as one job."""
        for item in self._evidence.items:
            where = f"item {item.number} ({item.kind}, {item.act})"
            answers = self._evidence.accepted.get(item.number, ())
            if not answers:
                yield Violation("never accepted", where)
            for lost in set(answers) - self._jobs.keys():
                yield Violation("accepted and lost", f"{where}, job {lost}")
            if answers and self._evidence.keys.get(item.number) != answers[-1]:
                yield Violation("the key does not stand for the accepted job", where)
            jobs = self._by_item[item.number]
            if answers and not jobs:
                yield Violation("accepted and lost", where)
            # A key whose job died without an effect is free for another try.
            if sum(not _without_effect(job) for job in jobs) > 1:
                yield Violation("one key, several jobs", f"{where}, jobs {', '.join(job.id for job in jobs)}")

    def jobs(self) -> Iterator[Violation]:
        """Each is asked for, finished, explained, and counted start by start."""
        for job in self._evidence.jobs:
            where = f"{job.type} {job.id}"
            item = self._items.get(-1 if job.number is None else job.number)
            if item is None and job.type != ALERT:
                yield Violation("nobody asked for it", where)
            if job.state not in FINAL:
                yield Violation(f"not in a final state: {job.state}", where)
            elif job.state != State.SUCCEEDED:
                yield from _unexplained(job, item, where)
            elif item is not None and item.act in _BAD_END:
                yield Violation(f"succeeded although it had to end as {_BAD_END[item.act]}", where)
            numbers = [number for number, _, _ in job.endings]
            told = job.attempts - (job.state == State.SUCCEEDED)
            if job.state in FINAL and numbers != list(range(1, told + 1)):
                yield Violation(f"{job.attempts} starts, but told of are {numbers}", where)

    def mails(self) -> Iterator[Violation]:
        """At most one per key and per Message-ID, each of a job that says so; a success has exactly one."""
        by_recipient = Counter(recipient for _, recipient in self._evidence.mails)
        by_id = Counter(message_id for message_id, _ in self._evidence.mails)
        for name, count in [*by_recipient.items(), *by_id.items()]:
            if count > 1:
                yield Violation(f"{count} mails", name)
        senders = {job.delivery_id: job for job in self._evidence.jobs if job.delivery_id is not None}
        for message_id in by_id:
            job = senders.get(message_id.strip("<>").partition("@")[0])
            if job is None:
                yield Violation("a mail of no job", message_id)
            elif not _may_have_acted(job):
                yield Violation(f"a mail of a job that is {job.state}, {job.error_code}", f"job {job.id}")
        sent = {message_id.strip("<>").partition("@")[0] for message_id in by_id}
        for delivery_id, job in senders.items():
            if job.state == State.SUCCEEDED and delivery_id not in sent:
                yield Violation("succeeded without a mail", f"job {job.id}")

    def deeds(self) -> Iterator[Violation]:
        """The same for deeds."""
        done = Counter(number for number, _ in self._evidence.deeds)
        for number, count in done.items():
            if count > 1:
                yield Violation(f"done {count} times", f"item {number}")
        for number, job_id in self._evidence.deeds:
            job = self._jobs.get(job_id)
            if job is None or not _may_have_acted(job):
                yield Violation("done by a job that does not say so", f"item {number}, job {job_id}")
        for item in self._evidence.items:
            if item.kind is Kind.DEED and not done[item.number]:
                for job in self._by_item[item.number]:
                    if job.state == State.SUCCEEDED:
                        yield Violation("succeeded without its deed", f"job {job.id}")


def expected_end(item: Item) -> str:
    """How the item ends when nothing else strikes."""
    return _BAD_END.get(item.act, State.SUCCEEDED)


def _unexplained(job: JobFact, item: Item | None, where: str) -> Iterator[Violation]:
    """A death is explained by exactly one letter, whose reason the item's act or lost starts account for."""
    if job.state != State.DEAD or len(job.letters) != 1 or not job.error_code:
        yield Violation(f"{job.state}, {len(job.letters)} dead letters, code {job.error_code}", where)
        return
    reason = job.letters[0]
    if item is not None and _BAD_END.get(item.act) == reason:
        return
    interrupted = any(
        outcome in ("lost", "timed_out") or code == "database_away" for _, outcome, code in job.endings[:-1]
    )
    guarded = item is None or item.kind in _GUARDED
    explained = (reason == UNKNOWN and guarded and interrupted) or (
        reason == "worker_lost" and job.lost_starts >= MAX_LOSSES
    )
    if not explained:
        yield Violation(f"dead for a reason that nothing explains: {reason}, {job.error_code}", where)


def _without_effect(job: JobFact) -> bool:
    return job.state in (State.DEAD, State.CANCELLED) and not job.effects


def _may_have_acted(job: JobFact) -> bool:
    return job.state == State.SUCCEEDED or (job.state == State.DEAD and job.letters == (UNKNOWN,))
