"""What an audit found."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

SHOWN = 5
"""How many violations of one check are named; the others are counted."""

CHECKS = {
    "digest": "the files are those that were approved",
    "totals": "figures in plan.json are those of the placement",
    "cost": "costs are those of the brokers and the load, and the objective",
    "objective": "the objective is what the pairs that are served are worth",
    "bound": "no objective or load beats its bound, and gaps follow from both",
    "fleet": "the fleet has these brokers, of these types, in these numbers",
    "brokers": "brokers.parquet has the network's brokers and their capacities",
    "topics": "topics.parquet has the topics that the plan was made for",
    "replicas": "every topic is there once, or all of it in its replicas",
    "sharing": "no broker has more than k topics, or two replicas of one",
    "subchannels": "subchannels.parquet has the bounds of the network's sub-channels",
    "capacity": "no broker carries more than it can",
    "load": "what brokers carry is what their pairs, users or topics make",
    "assignment": "assignment.parquet says what the placement says",
    "broker": "every pair, user or topic is on a broker that exists",
    "users": "users.parquet has one row for each user, in order",
    "reach": "every user's broker is in its reach",
    "links": "every tree goes from its source outwards, to each broker once",
    "circle": "all links are of one tree, where brokers are joined by one",
    "trees": "messages get to the brokers that want them, and to no others",
    "weight": "no tree could be lighter",
    "subscribers": "the placement has one row for each subscriber, in order",
    "lists": "every topic of a subscriber has its broker beside it",
    "repeated": "every pair is served at most once",
    "unwanted": "every pair served is a pair wanted",
    "threshold": "every subscriber receives its threshold",
    "prediction": "predicted latencies are those of the model",
    "target": "every topic stays within its target, beside any of its neighbours",
    "observed": "no broker has what was seen to miss a target",
}
"""The checks, in the order they are reported, each with what it makes sure of."""


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong. `total` counts those of its check, named or not."""

    check: str
    message: str
    total: int = 1


@dataclass(frozen=True)
class Findings:
    """What is wrong with a plan directory; `digest` is the one that it states."""

    digest: str
    violations: tuple[Violation, ...]

    @property
    def ok(self) -> bool:
        return not self.violations

    @property
    def total(self) -> int:
        """All violations, named or not."""
        return sum({v.check: v.total for v in self.violations}.values())


@dataclass(frozen=True)
class Audit(Findings):
    """What was recomputed from a plan of kind provision or fill."""

    kind: str
    brokers: int
    load: int
    pairs: int
    subscribers: int
    thresholds_checked: bool


@dataclass(frozen=True)
class OverlayAudit(Findings):
    """What was recomputed from a plan of kind overlay; costs in thousandths.

    `brokers` have users; `links` are those of all trees.
    """

    users: int
    brokers: int
    subchannels: int
    links: int
    load: int
    access: int
    core: int
    kind: str = "overlay"


@dataclass(frozen=True)
class ColocationAudit(Findings):
    """What was recomputed from a plan of kind colocate; load in cores.

    `source_checked` says whether the topics were compared with what they came from.
    """

    topics: int
    replicas: int
    brokers: int
    load: float
    source_checked: bool
    kind: str = "colocate"


def named(
    check: str, messages: Iterable[str], total: int | None = None
) -> list[Violation]:
    """The first few violations of a check; without a `total`, all are counted."""
    if total is None:
        messages = list(messages)
        total = len(messages)
    return [Violation(check, message, total) for message in islice(messages, SHOWN)]


def in_order(violations: Iterable[Violation]) -> list[Violation]:
    """Grouped by check, in the order of CHECKS; within a check as they came."""
    order = {check: place for place, check in enumerate(CHECKS)}
    return sorted(violations, key=lambda v: order[v.check])
