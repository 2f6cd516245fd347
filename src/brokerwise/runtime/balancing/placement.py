"""Which broker a session goes to. Pure: candidates and the turn come in.

Candidates are in the order of their names, so that equal ones give the same answer.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

Point = tuple[float, float]


@dataclass(frozen=True)
class Candidate:
    """A broker that may be given sessions; `point` is None if its place is unknown."""

    name: str
    point: Point | None = None


def nearest(candidates: Sequence[Candidate], point: Point | None, turn: int) -> str:
    """The nearest broker, of several the first by name; round robin if the place of
    the user, or of every broker, is unknown."""
    placed = [c for c in candidates if c.point is not None]
    if point is None or not placed:
        return round_robin(candidates, point, turn)
    return min(placed, key=lambda c: (math.dist(point, c.point or point), c.name)).name


def round_robin(candidates: Sequence[Candidate], point: Point | None, turn: int) -> str:
    return candidates[turn % len(candidates)].name


def at_random(candidates: Sequence[Candidate], point: Point | None, turn: int) -> str:
    """Uniform, and the same for the same turn: a fleet can be repeated."""
    return Random(turn).choice(candidates).name


Policy = Callable[[Sequence[Candidate], Point | None, int], str]
POLICIES: Mapping[str, Policy] = {
    "nearest": nearest,
    "round-robin": round_robin,
    "random": at_random,
}


@dataclass
class PlannedLoad:
    """What each broker carries by the plan's rates: every topic comes in once and
    goes out once for each of its sessions."""

    capacities: Mapping[str, int | None]
    rates: Mapping[str, int]
    _load: dict[str, int] = field(default_factory=dict)
    _pairs: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, broker: str, topics: Iterable[str]) -> None:
        pairs = self._pairs.setdefault(broker, {})
        for topic in topics:
            first = topic not in pairs
            pairs[topic] = pairs.get(topic, 0) + 1
            self._load[broker] = self.load(broker) + self._rate(topic) * (1 + first)

    def load(self, broker: str) -> int:
        return self._load.get(broker, 0)

    def room_with(self, broker: str, topics: Iterable[str]) -> int:
        """What would be left with these too; below 0 if they do not fit. A broker
        without a capacity has as much as it does not carry."""
        pairs = self._pairs.get(broker, {})
        more = sum(self._rate(t) * (1 + (t not in pairs)) for t in topics)
        return (self.capacities.get(broker) or 0) - self.load(broker) - more

    def _rate(self, topic: str) -> int:
        return self.rates.get(topic, 0)


def most_room(
    planned: PlannedLoad,
    candidates: Sequence[Candidate],
    topics: Collection[str],
    occupied: Collection[str] = (),
) -> str:
    """The broker with most room left once the topics are there, even if it is less
    than none; of equal ones the first by name.

    Brokers where the user has another session (`occupied`) come last: two sessions
    that have become one on a broker cannot be parted by a move.
    """
    return min(
        candidates,
        key=lambda c: (
            c.name in occupied,
            -planned.room_with(c.name, topics),
            c.name,
        ),
    ).name
