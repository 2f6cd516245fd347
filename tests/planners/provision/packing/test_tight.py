"""`tight` against the optimum, `custom` and the bound."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.planners.provision.packing import literal
from tests.planners.provision.packing.cases import (
    Case,
    as_brokers,
    cases,
    check_sound,
    many_topics,
    never,
    nowhere,
)

from brokerwise.model.fleet import BrokerType, Fleet, Prices
from brokerwise.planners.provision.cover import cheapest_cover
from brokerwise.planners.provision.packing.pack import pack
from brokerwise.planners.provision.packing.pieces import Demand
from brokerwise.planners.provision.packing.tight import WORK


@given(case=cases(limits=True, subscribers=12))
def test_tight_is_never_dearer_than_custom(case: Case) -> None:
    tight, custom = case.pack("tight"), case.pack("custom")
    if custom is not None:
        assert tight is not None
        assert case.key(tight) <= case.key(custom)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("types", [1, 3])
def test_tight_is_close_to_the_optimum(seed: int, types: int) -> None:
    ratios = []
    for case in drawn_cases(random.Random(seed), types, 25):
        best = literal.optimum(case.items, case.types, case.incoming)
        found = case.pack("tight")
        assert best is not None and found is not None
        check_sound(case, found)
        ratios.append(case.key(found)[0] / best[0])
    assert max(ratios) <= 1.1
    assert sum(ratios) / len(ratios) <= 1.005


def drawn_cases(rng: random.Random, types: int, number: int) -> Iterator[Case]:
    """Loads of up to about three of the smallest brokers."""
    while number:
        capacity = rng.choice([12, 20, 50])
        sizes = [capacity, 2 * capacity, 3 * capacity // 2][:types]
        kinds = tuple((c, rng.randint(1, 9) * c // capacity + 1, None) for c in sizes)
        rates = sorted((rng.randint(1, capacity // 3) for _ in range(5)), reverse=True)
        lists = tuple(
            tuple(t for t in range(5) if rng.random() < 0.6) for _ in range(3)
        )
        case = Case(tuple(rates), lists, kinds, rng.choice([0.0, 0.25, 1.0, 4.0]))
        if any(lists) and sum(case.counts) <= 8:
            number -= 1
            yield case


@st.composite
def halves(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Two lists with the same sum, of one to seven different numbers each: with few
    different ones there is hardly another way to divide them."""
    half = draw(st.lists(number_among(draw, 60), min_size=2, max_size=7))
    size, rest = draw(st.integers(2, 7)), sum(half)
    some = number_among(draw, max(1, rest // size))
    other = draw(st.lists(some, min_size=size - 1, max_size=size - 1))
    while sum(other) >= rest:
        other.pop()
    return half, [*other, rest - sum(other)]


def number_among(draw: st.DrawFn, most: int) -> st.SearchStrategy[int]:
    kinds = draw(st.lists(st.integers(1, most), min_size=1, max_size=7))
    return st.sampled_from(kinds)


@example(([29, 32, 32, 32, 32, 32, 36], [10, 10, 5, 5, 5, 5, 185]))
@example(([29, 32, 32, 32, 32, 32, 29], [21, 21, 21, 21, 21, 21, 92]))
@example(([29, 32, 32, 32, 32, 32, 57], [25, 33, 33, 33, 25, 25, 72]))
@given(halves())
def test_partitions_are_found(halves: tuple[list[int], list[int]]) -> None:
    """Topics with one pair each cannot be cut: two brokers hold them exactly if and
    only if their rates can be divided in equal halves."""
    half, other = halves
    rates = tuple(sorted((*half, *other), reverse=True))
    everything = (tuple(range(len(rates))),)
    case = Case(rates, everything, ((2 * sum(half), 1, None),))
    found = case.pack("tight")
    assert found is not None and len(found.broker_type) == 2
    check_sound(case, found)


def test_tight_uses_limited_types_together() -> None:
    case = Case((4, 3, 2), ((0, 1, 2), (0, 1, 2)), ((12, 1, 1), (9, 1, 1), (6, 1, 1)))
    found = case.pack("tight")
    assert found is not None
    check_sound(case, found)
    assert sorted(found.broker_type.tolist()) == [0, 1, 2]


@given(case=cases(subscribers=3))
def test_without_prices_the_fewest_brokers_and_the_least_load_are_best(
    case: Case,
) -> None:
    types = tuple((capacity, 0, None) for capacity, _, _ in case.types)
    case = Case(case.rates, case.lists, types)
    best = literal.optimum(case.items, types, 0.0)
    found = case.pack("tight")
    assert found is not None
    assert case.key(found) == (best or (0, 0, 0))


def test_dear_traffic_is_worth_a_broker() -> None:
    """Three topics of load 6 fill two brokers of 10 only if one is cut."""
    lists = ((0, 1, 2), (0, 1, 2))
    dear = Case((2, 2, 2), lists, ((10, 1, None),), 8.0).pack("tight")
    cheap = Case((2, 2, 2), lists, ((10, 1, None),), 0.1).pack("tight")
    assert dear is not None and cheap is not None
    assert (len(dear.broker_type), dear.placement.runs) == (3, 3)
    assert (len(cheap.broker_type), cheap.placement.runs) == (2, 4)


@pytest.mark.parametrize("brokers", [7, 40, 150])
def test_tight_fills_brokers_almost_exactly(brokers: int) -> None:
    rates, counts = many_topics()
    load = int(rates @ (counts + (counts > 0)))
    capacity = load // brokers + 5
    fleet = Fleet((BrokerType("a", capacity, hour_usd=0.15),), 0.12)
    prices = Prices.of(fleet, 864_000, 200)
    found = pack("tight", Demand(rates, counts, nowhere), fleet, prices, never)
    assert found is not None
    once = rates @ (-(-counts // np.maximum(capacity // rates - 1, 1)))
    least = int(rates @ counts) + int(once)
    total = found.incoming(rates) + found.outgoing(rates)
    assert len(found.broker_type) <= -(-least // capacity) + 1
    assert total <= 1.001 * least


def test_a_mix_is_packed_for_the_rent_of_the_cheapest_cover() -> None:
    rates, counts = many_topics()
    capacities, usd = (1_000_000, 2_300_000, 4_100_000), (1.0, 2.2, 4.3)
    fleet = Fleet(tuple(BrokerType(f"{c}", c) for c in capacities))
    prices = Prices(usd, 1e-9, 1e-9)
    found = pack("tight", Demand(rates, counts, nowhere), fleet, prices, never)
    assert found is not None
    total = found.incoming(rates) + found.outgoing(rates)
    cover = cheapest_cover(total, capacities, usd, (None, None, None))
    assert cover is not None
    rent = prices.cost(found.brokers_of_types(3), 0, 0).brokers
    assert rent == pytest.approx(prices.cost(cover, 0, 0).brokers, rel=0.01)


def test_a_stopped_search_still_answers() -> None:
    rates, counts = many_topics(2_000)
    fleet = Fleet((BrokerType("a", int(rates[0]) * 3, hour_usd=1.0),))
    prices = Prices((1.0,), 0.001, 0.0)
    demand = Demand(rates, counts, nowhere)
    found = pack("tight", demand, fleet, prices, lambda: True)
    custom = pack("custom", demand, fleet, prices, never)
    assert found is not None and custom is not None
    assert len(found.broker_type) <= len(custom.broker_type)


def test_a_search_without_a_limit_of_work_goes_on_until_it_is_stopped() -> None:
    """The load of five topics would fit on two brokers, the topics do not."""
    case = Case((4,) * 5, ((0, 1, 2, 3, 4),), ((20, 1, None),))
    asked = iter(range(50))

    def stop() -> bool:
        return next(asked, None) is None

    found = pack("tight", case.demand, case.fleet, case.prices, stop, None)
    assert found is not None
    assert len(found.broker_type) == 3
    assert next(asked, None) is None


def test_a_search_without_a_limit_of_work_ends_where_nothing_can_be_better() -> None:
    case = Case((5, 3), ((0, 1),), ((16, 1, None),))
    found = pack("tight", case.demand, case.fleet, case.prices, never, None)
    assert found is not None
    assert len(found.broker_type) == 1


def test_work_does_not_change_what_is_repeated() -> None:
    rates, counts = many_topics(300)
    fleet = Fleet((BrokerType("a", int(rates[0]) * 2, hour_usd=1.0),))
    demand = Demand(rates, counts, nowhere)
    one, two = (
        pack("tight", demand, fleet, Prices((1.0,), 0.01, 0.0), never, WORK // 50)
        for _ in range(2)
    )
    assert one is not None and two is not None
    assert as_brokers(one) == as_brokers(two)
