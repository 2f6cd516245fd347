"""`tight`: brokers filled almost exactly, topics cut where it costs least.

A topic may be cut at the price of its rate once more for every further broker. So the
fleet is the cheapest mix of types that covers the load; topics go into it by descending
rate, each whole on the roomiest broker, and are cut only where they do not fit: what
comes last and is cut has the smallest rates.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush
from itertools import pairwise
from typing import TypeVar

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.planners.provision.cover import rational, search_cover
from brokerwise.planners.provision.packing.attempt import Budget, Field, Key, Packer
from brokerwise.planners.provision.packing.pieces import (
    Counter,
    Demand,
    Pieces,
    by_rate,
    by_volume,
    custom,
    whole,
)

# Nodes of the search for one mix: there are many, and none has to be proven best.
NODES = 4_000

Mix = tuple[int, ...]
Limits = tuple[int | None, ...]
N = TypeVar("N")
_FREE = Fraction(0)

# Topics and pieces placed in all tries together; one or two seconds.
WORK = 24_000_000
# Tries to improve the order of one attempt, where topics are few.
TRIES = 2_000
# Mixes of brokers that are looked at, and that are packed into.
MIXES, ATTEMPTS = 40, 12


@dataclass(frozen=True, order=True)
class _Proposal:
    """A mix, and what it is the cheapest for. Ordered by rent, then brokers."""

    rent: Fraction
    number: int
    mix: Mix
    load: int = field(compare=False)
    floors: Mix = field(compare=False)
    limits: Limits = field(compare=False)


class Mixes:
    """Mixes that could carry a load, the cheapest first, each once.

    Topics that only large types can carry put those into the mix.
    """

    def __init__(self, demand: Demand, counter: Counter, load: int) -> None:
        types = counter.fleet.broker_types
        self._counter = counter
        self._capacities = [t.capacity for t in types]
        self._rents = [rational(usd) for usd in counter.prices.brokers]
        self._limits: Limits = tuple(t.count for t in types)
        self._levels = list(_levels(demand, sorted(set(self._capacities))))
        self._seen: set[Mix] = set()
        self._waiting: list[_Proposal] = []
        self._propose(load, (0,) * len(types), self._limits)

    def next(self) -> Mix | None:
        """The cheapest mix not taken yet; None if limits leave no other."""
        if not self._waiting:
            return None
        self._taken = heappop(self._waiting)
        return self._taken.mix

    def add_more(self, unplaced: int, rate: int) -> None:
        """Propose more than the mix that was taken last, which left so much load,
        and a topic of this rate, without a place (0: none)."""
        last = self._taken
        if 2 * rate > min(self._capacities):
            for i, n in enumerate(last.mix):
                if self._capacities[i] >= 2 * rate:
                    self._propose(last.load, _with(last.floors, i, n + 1), self._limits)
        capacity = self._capacity(last.mix)
        more = capacity + max(1, unplaced)
        if None not in self._limits:
            # What every broker together has may be less than that, yet do.
            everything = self._capacity(tuple(n or 0 for n in self._limits))
            more = max(capacity + 1, min(more, everything))
        self._propose(more, last.floors, self._limits)

    def add_others(self) -> None:
        """Propose mixes for the same load without one of the brokers taken last."""
        last = self._taken
        for i, n in enumerate(last.mix):
            if n > last.floors[i]:
                limits = _with(last.limits, i, n - 1)
                self._propose(last.load, last.floors, limits)

    def add_larger(self) -> None:
        """Propose the mix that was taken last with a broker that is larger than all
        of its own: what is cut there would fit."""
        last = self._taken
        largest = max(c for n, c in zip(last.mix, self._capacities, strict=True) if n)
        for i, capacity in enumerate(self._capacities):
            if capacity > largest:
                floors = _with(last.floors, i, last.floors[i] + 1)
                self._propose(last.load, floors, self._limits)

    def brokers(self, mix: Mix) -> tuple[Int32s, Int64s]:
        """Type and capacity of each broker of a mix, the largest first."""
        capacities = np.array(self._capacities, np.int64)
        types = np.repeat(np.arange(len(mix), dtype=np.int32), mix)
        types = types[np.argsort(-capacities[types], kind="stable")]
        return types, capacities[types]

    def _propose(self, load: int, floors: Mix, limits: Limits) -> None:
        found = self._mix(load, floors, limits)
        if found is None or found[0] in self._seen:
            return
        mix, floors = found
        self._seen.add(mix)
        rent = sum((n * usd for n, usd in zip(mix, self._rents, strict=True)), _FREE)
        heappush(self._waiting, _Proposal(rent, sum(mix), mix, load, floors, limits))

    def _mix(self, load: int, floors: Mix, limits: Limits) -> tuple[Mix, Mix] | None:
        """The cheapest cover, with floors raised for what needs large types."""
        mix = self._cover(load, floors, limits, 0)
        for need, large in self._levels:
            if mix is not None and self._capacity(mix, need) < large:
                raised = self._cover(large, floors, limits, need)
                if raised is None:
                    return None
                floors = raised
                mix = self._cover(load, floors, limits, 0)
        return None if mix is None else (mix, floors)

    def _cover(self, load: int, floors: Mix, limits: Limits, need: int) -> Mix | None:
        """The cheapest mix on top of floors that has so much capacity in types that
        have at least `need` each."""
        if any(
            limit is not None and floor > limit
            for floor, limit in zip(floors, limits, strict=True)
        ):
            return None
        left = [
            0 if c < need else None if limit is None else limit - floor
            for c, limit, floor in zip(self._capacities, limits, floors, strict=True)
        ]
        rest = load - self._capacity(floors, need)
        usd = self._counter.prices.brokers
        cover = search_cover(rest, self._capacities, usd, left, NODES)
        if cover is None:
            return None
        return tuple(n + floor for n, floor in zip(cover.brokers, floors, strict=True))

    def _capacity(self, mix: Mix, least: int = 0) -> int:
        """Of the brokers of a mix that have at least so much each."""
        return sum(
            n * c for n, c in zip(mix, self._capacities, strict=True) if c >= least
        )


def _with(values: tuple[N, ...], place: int, value: N) -> tuple[N, ...]:
    return (*values[:place], value, *values[place + 1 :])


def _levels(demand: Demand, capacities: list[int]) -> Iterator[tuple[int, int]]:
    """(capacity, load): topics that need at least this capacity, and their load;
    the largest capacity first."""
    for smaller, capacity in reversed(list(pairwise(capacities))):
        large = int(np.count_nonzero(2 * demand.rates > smaller))
        counts = demand.counts[:large]
        load = int(demand.rates[:large] @ (counts + (counts > 0)))
        if load:
            yield capacity, load


def cheaper_types(pieces: Pieces, demand: Demand, counter: Counter) -> Pieces:
    """The same packing with brokers of the cheapest types that hold their loads.

    Within limits: the brokers choose one after the other, the most loaded first.
    """
    types, usd = counter.fleet.broker_types, counter.prices.brokers
    chosen = pieces.broker_type.copy()
    taken = np.bincount(chosen, minlength=len(types)).tolist()
    loads = pieces.loads(demand)
    by_price = sorted(range(len(types)), key=lambda i: (usd[i], types[i].capacity, i))
    for b in np.argsort(-loads, kind="stable").tolist():
        for i in by_price:
            limit = types[i].count
            if i == chosen[b]:
                break
            if loads[b] <= types[i].capacity and (limit is None or taken[i] < limit):
                taken[chosen[b]] -= 1
                taken[i] += 1
                chosen[b] = i
                break
    return Pieces(chosen, pieces.home, pieces.cuts)


def tight(
    demand: Demand,
    counter: Counter,
    stop: Callable[[], bool],
    work: int | None = WORK,
) -> Pieces | None:
    """The cheapest packing found; never dearer than `custom`, which is tried too.

    O(topics log brokers) for each of a few tries, and further tries while `work`
    lasts: near the optimum where topics are few, near the bound where they are many.
    None if the fleet's limits leave no packing that was found. With `work` None it
    goes on until `stop`, or until no mix of brokers promises more.
    """
    search = _Search(Field(demand, counter), Budget(work, stop))
    search.dive()
    tries = TRIES
    search.climb(tries)
    while work is None and not stop() and not search.is_over:
        tries *= 2
        search.climb(tries)
    return search.best


class _Search:
    """The best packing so far; `is_over` once no mix promises a better one."""

    def __init__(self, field: Field, budget: Budget) -> None:
        self._field, self._budget = field, budget
        self._demand, self._counter = field.demand, field.counter
        self.best: Pieces | None = None
        self._best_key: Key | None = None
        self.is_over = False
        self._whole_offered = False
        self._least_extra = field.least_extra(field.counter.fleet.largest_capacity)
        self._volume = by_volume(self._demand)
        self._packer = Packer(
            field, by_rate(self._demand), self._volume, budget, self._offer
        )
        self._offer(custom(self._demand, self._counter, self._volume))

    def dive(self) -> None:
        """Pack into ever larger mixes until one does, to have a cost to better."""
        mixes = self._mixes()
        for _ in range(ATTEMPTS):
            mix = mixes.next()
            if mix is None or not self._promises(mix, self._least_extra):
                return
            unplaced, rate = self._short(mixes, mix), 0
            if unplaced <= 0:
                unplaced, rate = self._attempt(mixes, mix, 0)
            if not unplaced or not self._may_go_on():
                return
            mixes.add_more(unplaced, rate)

    def climb(self, tries: int) -> None:
        """Pack into the mixes that could be better than the best, cheapest first,
        with so many tries for each."""
        mixes = self._mixes()
        attempts = 0
        for _ in range(MIXES):
            mix = mixes.next()
            if mix is None or not self._promises(mix, self._least_extra):
                self.is_over = not attempts
                return
            mixes.add_larger()
            if not self._promises(mix, self._least_extra_of(mixes, mix)):
                continue
            unplaced, rate = self._short(mixes, mix), 0
            if unplaced <= 0:
                if attempts == ATTEMPTS or not self._may_go_on():
                    return
                unplaced, rate = self._attempt(mixes, mix, tries)
                attempts += 1
            mixes.add_others()
            mixes.add_more(unplaced // 2, rate)

    def _mixes(self) -> Mixes:
        load, fleet = self._field.load(self._least_extra), self._counter.fleet
        if len(fleet.broker_types) == 1:
            # Large topics may need more brokers than the load does.
            capacity = fleet.largest_capacity
            load = max(load, (self._field.least_brokers(capacity) - 1) * capacity + 1)
        return Mixes(self._demand, self._counter, load)

    def _least_extra_of(self, mixes: Mixes, mix: Mix) -> int:
        return self._field.least_extra(int(mixes.brokers(mix)[1][0]))

    def _short(self, mixes: Mixes, mix: Mix) -> int:
        """The load that a mix is known to be too small for."""
        capacity = int(mixes.brokers(mix)[1].sum())
        return self._field.load(self._least_extra_of(mixes, mix)) - capacity

    def _attempt(self, mixes: Mixes, mix: Mix, tries: int) -> tuple[int, int]:
        """Pack into a mix; returns the load left over, and its largest rate."""
        types, capacities = mixes.brokers(mix)
        enough = self._least_extra_of(mixes, mix) + self._field.negligible
        made = self._packer.attempt(types, capacities, enough, tries)
        if made.rank > (0, enough) and not self._whole_offered:
            self._whole_offered = True
            self._offer(whole(self._demand, self._counter, self._volume))
        rate = int(self._demand.rates[made.lost]) if made.unplaced else 0
        return made.unplaced, rate

    def _offer(self, pieces: Pieces | None) -> None:
        """Keep a packing if it is better than the best."""
        if pieces is None:
            return
        if len(self._counter.order) > 1:
            pieces = cheaper_types(pieces, self._demand, self._counter)
        key = self._field.key_of(pieces)
        if self._best_key is None or key < self._best_key:
            self.best, self._best_key = pieces, key

    def _promises(self, mix: Mix, least_extra: int) -> bool:
        """Whether packing into this mix could better the best by enough to matter."""
        extra = least_extra + self._field.negligible
        return self._best_key is None or (
            self._field.key(list(mix), extra) < self._best_key
        )

    def _may_go_on(self) -> bool:
        return self.best is None or self._budget.allows(len(self._volume))
