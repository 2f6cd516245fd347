"""Small cases to pack, an independent check of packings, and one large case."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from tests.planners.provision.packing import literal

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.fleet import BrokerType, Fleet, Prices
from brokerwise.planners.provision.packing.pack import pack
from brokerwise.planners.provision.packing.pieces import Demand, Packing


@dataclass(frozen=True)
class Case:
    """Topics with pairs, lists of subscribers that want them, types and a price."""

    rates: tuple[int, ...]
    lists: tuple[tuple[int, ...], ...]
    types: tuple[literal.Type, ...]
    incoming: float = 0.0

    @property
    def counts(self) -> list[int]:
        return [sum(t in s for s in self.lists) for t in range(len(self.rates))]

    @property
    def items(self) -> list[literal.Item]:
        return list(zip(self.rates, self.counts, strict=True))

    @property
    def fleet(self) -> Fleet:
        return Fleet(
            tuple(BrokerType(f"t{k}", c, n) for k, (c, _, n) in enumerate(self.types))
        )

    @property
    def prices(self) -> Prices:
        return Prices(tuple(float(usd) for _, usd, _ in self.types), self.incoming, 0)

    @property
    def demand(self) -> Demand:
        return Demand(
            np.array(self.rates, np.int64), np.array(self.counts), self._blocks
        )

    def pack(self, name: str) -> Packing | None:
        return pack(name, self.demand, self.fleet, self.prices, never)

    def key(self, found: Packing) -> literal.Key:
        """Cost but for what is sent, brokers, incoming."""
        numbers = found.brokers_of_types(len(self.types))
        received = sum(self.rates[t] for t in found.placement.topic.tolist())
        cost = self.prices.cost(numbers, received, 0).total
        return cost, len(found.broker_type), received

    def _blocks(self) -> Iterator[tuple[Int64s, Int32s]]:
        """The lists two by two, with offsets that do not start at 0."""
        for first in range(0, len(self.lists), 2):
            block = self.lists[first : first + 2]
            flat = [99, *(t for topics in block for t in topics), 99]
            ends = np.cumsum([1, *map(len, block)])
            yield ends, np.array(flat, np.int32)


def never() -> bool:
    return False


@st.composite
def cases(draw: st.DrawFn, limits: bool = False, subscribers: int = 6) -> Case:
    largest = draw(st.sampled_from([6, 10, 24]))
    smaller = draw(st.lists(st.integers(2, largest), max_size=2))
    limit = st.none() | st.integers(1, 4) if limits else st.none()
    types = [(c, draw(st.integers(0, 9)), draw(limit)) for c in (*smaller, largest)]
    rates = draw(st.lists(st.integers(0, largest // 2), min_size=1, max_size=6))
    rates.sort(reverse=True)
    wanted = [t for t, rate in enumerate(rates) if rate]
    assume(wanted)
    some = st.sets(st.sampled_from(wanted)).map(lambda s: tuple(sorted(s)))
    lists = draw(st.lists(some, max_size=subscribers))
    incoming = draw(st.sampled_from([0.0, 0.25, 1.0, 8.0]))
    return Case(
        tuple(rates), tuple(lists), tuple(draw(st.permutations(types))), incoming
    )


def rows(found: Packing) -> Iterator[tuple[int, int, int]]:
    runs = found.placement
    for topic, broker, pairs in zip(runs.topic, runs.broker, runs.pairs, strict=True):
        yield int(topic), int(broker), int(pairs)


def check_sound(case: Case, found: Packing) -> None:
    """Every pair once, no capacity exceeded, no broker idle, limits kept."""
    served = [0] * len(case.rates)
    loads = [0] * len(found.broker_type)
    for t, b, n in rows(found):
        served[t] += n
        loads[b] += case.rates[t] * (n + 1)
    assert served == case.counts
    for load, kind in zip(loads, found.broker_type.tolist(), strict=True):
        assert 0 < load <= case.types[kind][0]
    for k, (_, _, limit) in enumerate(case.types):
        assert limit is None or found.broker_type.tolist().count(k) <= limit
    rates = np.array(case.rates)
    assert found.incoming(rates) + found.outgoing(rates) == sum(loads)


def as_brokers(found: Packing) -> tuple[list[int], list[dict[int, int]]]:
    brokers: list[dict[int, int]] = [{} for _ in found.broker_type]
    for t, b, n in rows(found):
        brokers[b][t] = n
    return found.broker_type.tolist(), brokers


def many_topics(topics: int = 20_000, seed: int = 4) -> tuple[Int64s, Int64s]:
    """Rates and counts with heavy tails, as real ones have."""
    rng = np.random.default_rng(seed)
    rates = np.minimum(rng.pareto(1.1, topics) * 8 + 1, 5_000).astype(np.int64)
    counts = np.minimum(rng.pareto(1.0, topics) * 2, 20_000).astype(np.int64)
    return -np.sort(-rates), counts


def nowhere() -> Iterator[tuple[Int64s, Int32s]]:
    raise AssertionError("only first-fit may ask for lists")
