"""Algorithm 1 of Nguyen et al. in plain Python, word for word: nothing is kept that can
be counted again."""

from collections import Counter
from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from brokerwise.planners.balance.problem import Options, Problem


@dataclass
class Literal:
    """Sessions on brokers, as sets and counters of Python."""

    rates: list[int]
    wants: list[list[int]]
    users: list[int]
    held: list[bool]
    open: list[bool]
    closing: list[bool]
    origin: list[int]
    state_bytes: list[int]
    places: list[int] = field(default_factory=list)
    carried: list[Counter[int]] = field(default_factory=list)

    @classmethod
    def of(cls, problem: Problem) -> "Literal":
        snapshot = problem.snapshot
        made = cls(
            [int(rate) for rate in snapshot.rates],
            [snapshot.wanted.of(s).tolist() for s in range(snapshot.sessions)],
            snapshot.users.tolist(),
            problem.held.tolist(),
            problem.open.tolist(),
            problem.closing.tolist(),
            snapshot.places.tolist(),
            snapshot.state_bytes.tolist(),
        )
        made.places = list(made.origin)
        made.carried = [Counter() for _ in made.open]
        for session, place in enumerate(made.places):
            made.carried[place].update(made.wants[session])
        return made

    @property
    def counting(self) -> list[int]:
        return [b for b in range(len(self.open)) if not self.closing[b]]

    def load(self, broker: int, more: tuple[int, ...] | list[int] = ()) -> int:
        """By the load law, with a session of these topics besides."""
        pairs = self.carried[broker] + Counter(more)
        return sum(self.rates[topic] * (1 + n) for topic, n in pairs.items())

    def own(self, session: int) -> int:
        return sum(self.rates[topic] for topic in self.wants[session])

    def mean(self) -> float:
        brokers = self.counting
        return sum(map(self.load, brokers)) / len(brokers) if brokers else 0.0

    def cov(self) -> float:
        loads = [self.load(b) for b in self.counting]
        total = sum(loads)
        if not total:
            return 0.0
        return sqrt(len(loads) * sum(x * x for x in loads) - total * total) / total

    def may_go(self, session: int, broker: int) -> bool:
        others = [
            s
            for s, user in enumerate(self.users)
            if user == self.users[session] and s != session
        ]
        return (
            self.open[broker]
            and broker != self.places[session]
            and all(broker not in (self.places[s], self.origin[s]) for s in others)
        )

    def move(self, session: int, broker: int) -> None:
        self.carried[self.places[session]].subtract(self.wants[session])
        self.carried[self.places[session]] += Counter()  # drops what nobody wants
        self.carried[broker].update(self.wants[session])
        self.places[session] = broker

    def _moved(self) -> list[int]:
        return [s for s, place in enumerate(self.places) if place != self.origin[s]]

    def heaviest_first(self) -> list[int]:
        return sorted(range(len(self.wants)), key=lambda s: (-self.own(s), s))

    def allowed(self, session: int, broker: int, options: Options) -> bool:
        """Whether the budget has this move in it."""
        after = list(self.places)
        after[session] = broker
        moved = [s for s, place in enumerate(after) if place != self.origin[s]]
        if broker == self.origin[session] or session in self._moved():
            return True
        moves, spent = len(moved), sum(self.state_bytes[s] for s in moved)
        return (options.max_moves is None or moves <= options.max_moves) and (
            options.max_bytes is None or spent <= options.max_bytes
        )


def solved(problem: Problem, options: Options) -> list[int]:
    """Where each session ends by a policy of the paper."""
    fleet = Literal.of(problem)
    evacuate(fleet)
    stages = options.policy.split("+")
    if "gsh" in stages:
        shuffle(fleet, options)
    for scheme in ("ldm", "sdm"):
        if scheme in stages:
            migrate(fleet, scheme, options)
    return fleet.places


def evacuate(fleet: Literal) -> None:
    for session in fleet.heaviest_first():
        if fleet.closing[fleet.places[session]] and not fleet.held[session]:
            targets = [b for b in range(len(fleet.open)) if fleet.may_go(session, b)]
            if targets:
                wants = fleet.wants[session]
                fleet.move(session, min(targets, key=lambda b: fleet.load(b, wants)))


def shuffle(fleet: Literal, options: Options) -> None:
    """Lines 2 to 4: all out, then the heaviest first to the least loaded broker."""
    if not (fleet.cov() > options.gamma and fleet.mean() > options.theta):
        return
    before, carried = list(fleet.places), [Counter(c) for c in fleet.carried]
    going = [s for s in fleet.heaviest_first() if fleet.own(s) and not fleet.held[s]]
    for session in going:
        fleet.carried[before[session]].subtract(fleet.wants[session])
    fleet.carried = [c + Counter() for c in fleet.carried]
    after = list(before)
    for session in going:
        others = [
            s
            for s, user in enumerate(fleet.users)
            if user == fleet.users[session] and s != session
        ]
        taken = {p[s] for s in others for p in (fleet.origin, before, after)}
        targets = [
            b
            for b in range(len(fleet.open))
            if fleet.open[b] and (b == before[session] or b not in taken)
        ]
        if targets:
            after[session] = min(targets, key=lambda b: (fleet.load(b), b))
        fleet.carried[after[session]].update(fleet.wants[session])
    moved = [s for s, place in enumerate(after) if place != fleet.origin[s]]
    spent = sum(fleet.state_bytes[s] for s in moved)
    if (options.max_moves is None or len(moved) <= options.max_moves) and (
        options.max_bytes is None or spent <= options.max_bytes
    ):
        fleet.places = after
    else:
        fleet.carried = carried


def migrate(fleet: Literal, scheme: str, options: Options) -> list[tuple[int, int]]:
    """Lines 5 to 25; returns the steps: who was moved where."""
    steps: list[tuple[int, int]] = []
    while fleet.cov() > options.alpha and fleet.mean() > options.beta:
        source = max(fleet.counting, key=fleet.load)
        before = fleet.load(source)
        for session in fleet.heaviest_first():
            if fleet.places[session] != source or fleet.held[session]:
                continue
            if not fleet.own(session):
                continue
            target = destination(fleet, scheme, session)
            if target is None or fleet.load(target, fleet.wants[session]) >= before:
                continue
            if not fleet.allowed(session, target, options):
                return steps
            fleet.move(session, target)
            steps.append((session, target))
            break
        else:
            return steps
    return steps


def destination(fleet: Literal, scheme: str, session: int) -> int | None:
    targets = [b for b in range(len(fleet.open)) if fleet.may_go(session, b)]
    if scheme == "ldm":
        return min(targets, key=fleet.load, default=None)
    brokers = fleet.counting
    total = sum(map(fleet.load, brokers))
    under = [b for b in targets if fleet.load(b) * len(brokers) < total]
    return min(
        under,
        key=lambda b: (
            -sum(fleet.rates[k] for k in fleet.wants[session] if fleet.carried[b][k]),
            fleet.load(b),
        ),
        default=None,
    )


def loads_of(problem: Problem, places: list[int]) -> list[int]:
    """The load of each broker with sessions at these places."""
    fleet = Literal.of(problem)
    for session, place in enumerate(places):
        if fleet.places[session] != place:
            fleet.move(session, place)
    return [int(np.int64(fleet.load(b))) for b in range(len(fleet.open))]
