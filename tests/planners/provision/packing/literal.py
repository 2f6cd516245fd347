"""The published packings word for word, and the optimum by trying everything.

Plain Python that shares nothing with the product. A type is (capacity, price, limit).
A broker is a dict of the pairs of each topic, in the order they came.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

Type = tuple[int, int, int | None]
Item = tuple[int, int]  # rate, pairs
Key = tuple[float, int, int]


@dataclass
class Fleet:
    rates: Sequence[int]
    types: Sequence[Type]
    brokers: list[dict[int, int]] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)

    def room(self, b: int) -> int:
        used = sum(self.rates[t] * (n + 1) for t, n in self.brokers[b].items())
        return self.types[self.kinds[b]][0] - used

    def new(self, rate: int) -> int | None:
        """Open a broker that can carry the rate; None if types are used up."""
        able = [
            k
            for k, (capacity, _, limit) in enumerate(self.types)
            if capacity >= 2 * rate and (limit is None or self.kinds.count(k) < limit)
        ]
        if not able:
            return None
        best = min(able, key=lambda k: Fraction(self.types[k][1], self.types[k][0]))
        self.kinds.append(best)
        self.brokers.append({})
        return len(self.brokers) - 1

    def put_pairs(self, b: int, topic: int, pairs: int) -> int:
        """Put as many as fit, one by one; returns how many are left."""
        while pairs and self.room(b) >= self.rates[topic] * (
            1 if topic in self.brokers[b] else 2
        ):
            self.brokers[b][topic] = self.brokers[b].get(topic, 0) + 1
            pairs -= 1
        return pairs

    def copy(self) -> "Fleet":
        brokers = [dict(b) for b in self.brokers]
        return Fleet(self.rates, self.types, brokers, list(self.kinds))


def first_fit(
    rates: Sequence[int], types: Sequence[Type], pairs: Iterable[int]
) -> Fleet | None:
    fleet = Fleet(rates, types)
    for topic in pairs:
        for b in range(len(fleet.brokers)):
            if fleet.put_pairs(b, topic, 1) == 0:
                break
        else:
            fresh = fleet.new(rates[topic])
            if fresh is None:
                return None
            fleet.put_pairs(fresh, topic, 1)
    return fleet


def by_topic(
    name: str,
    rates: Sequence[int],
    counts: Sequence[int],
    types: Sequence[Type],
    incoming: float,
) -> Fleet | None:
    """grouped, grouped-largest, most-free and custom."""
    fleet = Fleet(rates, types)
    order = [t for t in range(len(rates)) if counts[t]]
    if name != "grouped":
        order.sort(key=lambda t: -rates[t] * counts[t])
    for t in order:
        newest = len(fleet.brokers) - 1
        if newest >= 0 and fleet.room(newest) >= rates[t] * (counts[t] + 1):
            fleet.brokers[newest][t] = counts[t]
            continue
        in_order = name in ("grouped", "grouped-largest")
        over_existing, left = spread(fleet, t, counts[t], in_order)
        spread_out = on_new(over_existing, t, left)
        if name == "custom":
            anew = on_new(fleet, t, counts[t])
            if anew is not None and (
                spread_out is None or not cheaper(spread_out, anew, t, incoming)
            ):
                spread_out = anew
        if spread_out is None:
            return None
        fleet = spread_out
    return fleet


def spread(fleet: Fleet, topic: int, pairs: int, in_order: bool) -> tuple[Fleet, int]:
    fleet = fleet.copy()
    waiting = list(range(len(fleet.brokers)))
    while pairs and waiting:
        b = waiting[0] if in_order else max(waiting, key=lambda b: (fleet.room(b), -b))
        waiting.remove(b)
        pairs = fleet.put_pairs(b, topic, pairs)
    return fleet, pairs


def on_new(fleet: Fleet, topic: int, pairs: int) -> Fleet | None:
    fleet = fleet.copy()
    while pairs:
        b = fleet.new(fleet.rates[topic])
        if b is None:
            return None
        pairs = fleet.put_pairs(b, topic, pairs)
    return fleet


def cheaper(one: Fleet, other: Fleet, topic: int, incoming: float) -> bool:
    def key(fleet: Fleet) -> tuple[float, int]:
        received = sum(topic in b for b in fleet.brokers) * fleet.rates[topic]
        rent = sum(fleet.types[k][1] for k in fleet.kinds)
        return rent + incoming * received, len(fleet.brokers)

    return key(one) < key(other)


def optimum(
    items: Sequence[Item], types: Sequence[Type], incoming: float
) -> Key | None:
    """The least (cost but for what is sent, brokers, incoming) of all packings."""
    items = [(rate, pairs) for rate, pairs in items if pairs]
    most = sum(pairs for _, pairs in items)
    load = sum(rate * (pairs + 1) for rate, pairs in items)
    once = sum(rate for rate, _ in items)
    best: Key | None = None
    limits = (most if limit is None else min(limit, most) for _, _, limit in types)
    for mix in product(*(range(limit + 1) for limit in limits)):
        rooms = [c for (c, _, _), n in zip(types, mix, strict=True) for _ in range(n)]
        rent = sum(usd * n for (_, usd, _), n in zip(types, mix, strict=True))
        hope = (rent + incoming * once, sum(mix), once)
        if sum(mix) > most or sum(rooms) < load or (best is not None and hope >= best):
            continue
        received = least_incoming(items, rooms)
        if received is not None:
            key = (rent + incoming * received, sum(mix), received)
            best = key if best is None else min(best, key)
    return best


def least_incoming(items: Sequence[Item], rooms: Sequence[int]) -> int | None:
    """What brokers with these rooms must receive at least; None if they cannot."""
    least = {tuple(sorted(rooms)): 0}
    for rate, pairs in items:
        following: dict[tuple[int, ...], int] = {}
        for state, received in least.items():
            for parts in splits(pairs, [room // rate - 1 for room in state]):
                after = tuple(
                    sorted(
                        room - rate * (n + 1) if n else room
                        for room, n in zip(state, parts, strict=True)
                    )
                )
                total = received + rate * sum(n > 0 for n in parts)
                following[after] = min(total, following.get(after, total))
        least = following
    return min(least.values(), default=None)


def splits(pairs: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All ways to divide pairs over brokers that take so many at most."""
    if not most:
        if pairs == 0:
            yield ()
        return
    for here in range(min(pairs, max(0, most[0])) + 1):
        for others in splits(pairs - here, most[1:]):
            yield (here, *others)
