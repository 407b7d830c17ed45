"""What is asked for and what will strike, decided by the seed before anything starts.

The plan is the same for the same seed and sizes. What a fault hits (which of the processes that run at that
moment, which job it has in hand) depends on the machine's timing as well.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

T = TypeVar("T")


class Kind(StrEnum):
    """Where a job comes in."""

    EMAIL = "e-mail"
    IMAGE = "image"
    DOCUMENT = "document"
    DEED = "deed"


class Act(StrEnum):
    """What happens to a mail at the server, or what a deed does. The value is what the mail's address begins with."""

    SUCCEED = "succeed"
    # Mail: the server takes its time; hangs up in the final dot's stead; says yes and hangs up.
    SLOW = "slow"
    CUT = "cut"
    DROP = "drop"
    # Deeds.
    FLAKY = "flaky"
    REFUSE = "refuse"
    BREAK = "break"
    DIE = "die"
    DIE_IN_EFFECT = "die-in-effect"
    TAKE_DOWN = "take-down"
    OVERLONG = "overlong"
    OVERLONG_ONCE = "overlong-once"


class Strike(StrEnum):
    """The faults, as the report names them."""

    KILL_CHILD = "pool process killed"
    KILL_PARENT = "worker's parent killed, its pool left behind"
    KILL_WORKER = "whole worker killed"
    KILL_RELAY = "relay killed"
    KILL_WEB_PROCESS = "web process killed in mid-request"
    KILL_WEB = "whole web server killed in mid-request"
    FREEZE_WORKER = "worker frozen beyond its leases"
    FLUSH = "broker emptied"
    RESTART_BROKER = "broker restarted without its content"
    PAUSE_BROKER = "broker silent"
    DATABASE = "database restarted or locked"
    TWICE = "every message delivered twice"


# In shares of all jobs, and of all deeds; each act comes up at least once.
_KINDS = {Kind.EMAIL: 70, Kind.DEED: 22, Kind.DOCUMENT: 5, Kind.IMAGE: 3}
_MAIL = {Act.SUCCEED: 84, Act.SLOW: 6, Act.CUT: 6, Act.DROP: 4}
_DEEDS = {
    Act.SUCCEED: 56,
    Act.SLOW: 10,
    Act.FLAKY: 20,
    Act.REFUSE: 5,
    Act.BREAK: 4,
    Act.DIE: 2,
    Act.DIE_IN_EFFECT: 2,
    Act.TAKE_DOWN: 0,
    Act.OVERLONG: 0,
    Act.OVERLONG_ONCE: 1,
}
# Lost messages are found by two looks, ten seconds apart: a short run begins with the faults that lose some.
_LOSE_MESSAGES = (Strike.FLUSH, Strike.RESTART_BROKER, Strike.KILL_WORKER)


@dataclass(frozen=True)
class Item:
    """One thing that is asked for, under one idempotency key, by a client that does not give up."""

    number: int
    kind: Kind
    act: Act
    # The client repeats its request after the answer, as people do.
    repeated: bool = False

    @property
    def key(self) -> str:
        """Its Idempotency-Key."""
        return f"item-{self.number}"

    @property
    def recipient(self) -> str:
        """The address of a mail; nobody else has it."""
        return f"{self.act}.{self.number}@chaos.test"


@dataclass(frozen=True)
class Fault:
    """`draw` (0 to 1) chooses among the processes there are; `seconds` is how long it lasts, where it does."""

    strike: Strike
    draw: float
    seconds: float


@dataclass(frozen=True)
class Plan:
    """Items in the order in which they are asked for; faults in the order in which they strike."""

    seed: int
    items: tuple[Item, ...]
    faults: tuple[Fault, ...]


def make_plan(seed: int, *, jobs: int, faults: int, strikes: Sequence[Strike] = tuple(Strike)) -> Plan:
    """The plan of this seed. Each of `strikes` comes up equally often, as far as `faults` allows."""
    chance = random.Random(seed)  # to be repeated, not to be secret
    items = _items(chance, jobs)
    return Plan(seed, tuple(items), tuple(_faults(chance, faults, strikes)))


def number_of(recipient: str) -> int | None:
    """The number of the item that this address belongs to."""
    local = recipient.partition("@")[0]
    digits = local.rpartition(".")[2]
    return int(digits) if digits.isdigit() else None


def act_of(recipient: str) -> Act:
    """What is to happen to the mail for this address."""
    return Act(recipient.partition(".")[0])


def _items(chance: random.Random, jobs: int) -> list[Item]:
    kinds = _dealt(_KINDS, jobs)
    acts = {
        Kind.EMAIL: _dealt(_MAIL, kinds.count(Kind.EMAIL)),
        Kind.DEED: _dealt(_DEEDS, kinds.count(Kind.DEED)),
    }
    asked = []
    for kind in _KINDS:
        wanted = acts.get(kind, [Act.SUCCEED] * kinds.count(kind))
        # Every tenth of each sort, so that the ones that end badly are among them.
        asked += [(kind, act, place % 10 == 0) for place, act in enumerate(wanted)]
    chance.shuffle(asked)
    return [Item(number, *what) for number, what in enumerate(asked)]


def _dealt(shares: Mapping[T, int], total: int) -> list[T]:
    """`total` values in these shares, at least one of each; the first of them takes what rounding leaves."""
    counts = {value: max(1, total * share // sum(shares.values())) for value, share in shares.items()}
    first, *_ = counts
    counts[first] += total - sum(counts.values())
    return [value for value, count in counts.items() for _ in range(count)]


def _faults(chance: random.Random, count: int, strikes: Sequence[Strike]) -> list[Fault]:
    found: list[Strike] = []
    while len(found) < count:
        found += chance.sample(strikes, len(strikes))
    chosen = found[:count]
    if count <= len(strikes):
        chosen.sort(key=lambda strike: strike not in _LOSE_MESSAGES)
    return [Fault(strike, chance.random(), chance.uniform(1, 3)) for strike in chosen]
