"""The cheapest brokers with enough capacity: exact, or bounded from below."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from brokerwise.model.fleet import Fleet, Prices

# Nodes of the search; far above what fleets of a few types take.
NODES = 50_000
# Prices are decimal: a price this near to a fraction with a small denominator is it.
_DECIMALS = 10**6
_NEAR = Fraction(1, 2**50)
# Far above what such a reading, and adding up a mix, can be off by.
ROUNDING = 1e-13


@dataclass(frozen=True)
class Cover:
    """So many brokers of each type, and the rent that no cover is below.

    `least` is their own rent unless the search ran into its limit.
    """

    brokers: tuple[int, ...]
    least: Fraction


def cheapest_cover(
    load: int,
    capacities: Sequence[int],
    prices: Sequence[float],
    limits: Sequence[int | None],
) -> tuple[int, ...] | None:
    """So many brokers of each type that carry `load` for the least rent.

    Of equally cheap ones it has the fewest brokers; zero prices leave only that to
    compare. None if the limits (None: unlimited) leave too little capacity. Exact,
    unless the search takes over `NODES` nodes: then it is the best found.
    """
    cover = search_cover(load, capacities, prices, limits)
    return None if cover is None else cover.brokers


def cover_bound(load: int, fleet: Fleet, prices: Prices) -> float:
    """A rent in dollars that no brokers which can carry `load` are below.

    With one type it is the least rent itself, as `Prices` computes it; else it is
    lowered by more than rounding can amount to. Infinite if the fleet is too small.
    """
    cover = search_cover(load, _capacities(fleet), prices.brokers, _limits(fleet))
    if cover is None:
        return math.inf
    if len(cover.brokers) == 1:
        return prices.cost(cover.brokers, 0, 0).brokers
    return float(cover.least) * (1 - ROUNDING)


def fewest_brokers(load: int, fleet: Fleet) -> int | None:
    """The least number of brokers that can carry `load`; None if all cannot."""
    number = 0
    for t in sorted(fleet, key=lambda t: -t.capacity):
        take = _brokers_for(load, t.capacity, t.count)
        number += take
        load -= take * t.capacity
    return number if load <= 0 else None


def search_cover(
    load: int,
    capacities: Sequence[int],
    prices: Sequence[float],
    limits: Sequence[int | None],
    nodes: int = NODES,
) -> Cover | None:
    """Branch and bound over the types, cheapest capacity first."""
    rents = [rational(usd) for usd in prices]
    order = sorted(
        range(len(rents)), key=lambda i: (rents[i] / capacities[i], -capacities[i], i)
    )
    scale = math.lcm(*(rent.denominator for rent in rents))
    search = _Search(
        [capacities[i] for i in order],
        [int(rents[i] * scale) for i in order],
        [_brokers_for(load, capacities[i], limits[i]) for i in order],
        nodes,
    )
    root = search.least_rent(0, load)
    if root is None:
        return None
    search.descend(0, load, 0, 0)
    brokers = [0] * len(order)
    for i, number in zip(order, search.best, strict=True):
        brokers[i] = number
    assert search.best_rent is not None
    least = root if search.nodes < 0 else search.best_rent
    return Cover(tuple(brokers), Fraction(least, scale))


@dataclass
class _Search:
    """Whole numbers throughout: rents are scaled, and compared times `common`."""

    capacities: list[int]
    rents: list[int]
    limits: list[int]
    nodes: int
    taken: list[int] = field(default_factory=list)
    best: list[int] = field(default_factory=list)
    best_rent: int | None = None
    best_number: int = 0

    def __post_init__(self) -> None:
        self.common = math.lcm(*self.capacities)
        self.unit = [
            rent * (self.common // capacity)
            for rent, capacity in zip(self.rents, self.capacities, strict=True)
        ]
        # Rents are multiples of this, so a bound may be rounded up to one.
        self.grain = math.gcd(*self.rents) or 1

    def descend(self, k: int, load: int, rent: int, number: int) -> None:
        """Decide how many of type `k`, and of those after it, carry `load`."""
        if load <= 0:
            if self._improves(rent, number):
                self.best_rent, self.best_number = rent, number
                self.best = self.taken + [0] * (len(self.rents) - k)
            return
        most = min(self.limits[k], -(-load // self.capacities[k]))
        for take in range(most, -1, -1):
            self.nodes -= 1
            # The first dive, which takes the most of each, ends with a cover.
            if self.nodes < 0 and self.best:
                return
            rest = load - take * self.capacities[k]
            least = self.least_rent(k + 1, rest)
            if least is None:
                break  # fewer of this type leave the others even more to carry
            bound = rent + take * self.rents[k] + least
            if rest > 0 and self.best_rent is not None and bound > self.best_rent:
                break  # others are no cheaper, so fewer of this type only cost more
            if self._improves(bound, number + take + self._fewest(k + 1, rest)):
                self.taken.append(take)
                self.descend(k + 1, rest, rent + take * self.rents[k], number + take)
                self.taken.pop()

    def _improves(self, rent: int, number: int) -> bool:
        if self.best_rent is None:
            return True
        return (rent, number) < (self.best_rent, self.best_number)

    def least_rent(self, k: int, load: int) -> int | None:
        """Of the types from `k` on, if parts of brokers could be rented."""
        units = 0
        for i in range(k, len(self.rents)):
            if load <= 0:
                break
            part = min(load, self.limits[i] * self.capacities[i])
            units += part * self.unit[i]
            load -= part
        if load > 0:
            return None
        return -(-units // (self.common * self.grain)) * self.grain

    def _fewest(self, k: int, load: int) -> int:
        return -(-load // max(self.capacities[k:])) if load > 0 else 0


def _brokers_for(load: int, capacity: int, limit: int | None) -> int:
    wanted = max(0, -(-load // capacity))
    return wanted if limit is None else min(wanted, limit)


def rational(usd: float) -> Fraction:
    """A price as it was meant: 25.2 where multiplying left 25.199999999999996."""
    exact = Fraction(usd)
    simple = exact.limit_denominator(_DECIMALS)
    return simple if abs(simple - exact) <= exact * _NEAR else exact


def _capacities(fleet: Fleet) -> list[int]:
    return [t.capacity for t in fleet]


def _limits(fleet: Fleet) -> list[int | None]:
    return [t.count for t in fleet]
