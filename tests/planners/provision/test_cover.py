"""The cheapest cover, against trying every mix and against HiGHS."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import highspy
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.fleet import BrokerType, Fleet, Prices
from brokerwise.planners.provision.cover import (
    cheapest_cover,
    cover_bound,
    fewest_brokers,
    rational,
    search_cover,
)

# Prices as decimals that floating point cannot hold, and zero.
CENTS = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.7, 1.05, 2.1])
TYPES = st.lists(
    st.tuples(st.integers(1, 12), CENTS, st.none() | st.integers(1, 4)),
    min_size=1,
    max_size=3,
)
Types = list[tuple[int, float, int | None]]


def mixes(load: int, types: Types) -> list[tuple[Fraction, int, tuple[int, ...]]]:
    """(rent, brokers, mix) of all covers that are not larger than they need be."""
    most = [-(-load // c) if n is None else min(n, -(-load // c)) for c, _, n in types]
    found = []
    for mix in product(*(range(max(0, m) + 1) for m in most)):
        if sum(n * c for n, (c, _, _) in zip(mix, types, strict=True)) >= load:
            rent = sum(
                (
                    n * Fraction(str(usd))
                    for n, (_, usd, _) in zip(mix, types, strict=True)
                ),
                Fraction(0),
            )
            found.append((rent, sum(mix), mix))
    return found


def fleet_of(types: Types) -> tuple[Fleet, Prices]:
    fleet = Fleet(tuple(BrokerType(f"t{i}", c, n) for i, (c, _, n) in enumerate(types)))
    return fleet, Prices(tuple(usd for _, usd, _ in types), 0.0, 0.0)


@given(st.integers(0, 30), TYPES)
def test_no_cover_is_cheaper_nor_as_cheap_with_fewer_brokers(
    load: int, types: Types
) -> None:
    found = cheapest_cover(load, *map(list, zip(*types, strict=True)))
    covers = mixes(load, types)
    if found is None:
        assert covers == []
    else:
        best = min(covers)
        assert next(c for c in covers if c[2] == found)[:2] == best[:2]


@given(st.integers(0, 30), TYPES)
def test_the_bound_is_the_least_rent_but_for_rounding(load: int, types: Types) -> None:
    fleet, prices = fleet_of(types)
    bound = cover_bound(load, fleet, prices)
    rents = [prices.cost(mix, 0, 0).brokers for _, _, mix in mixes(load, types)]
    least = min(rents, default=math.inf)
    assert bound <= least
    assert bound == pytest.approx(least, rel=1e-12)


@given(st.integers(1, 10**9), st.integers(1, 10**6), CENTS)
def test_with_one_type_the_bound_is_a_rent(
    load: int, capacity: int, usd: float
) -> None:
    fleet, prices = fleet_of([(capacity, usd, None)])
    assert cover_bound(load, fleet, prices) == -(-load // capacity) * usd


@given(st.integers(0, 30), TYPES)
def test_the_fewest_brokers_are_the_largest(load: int, types: Types) -> None:
    covers = mixes(load, types)
    expected = min((number for _, number, _ in covers), default=None)
    assert fewest_brokers(load, fleet_of(types)[0]) == expected


@given(st.integers(0, 40), TYPES, st.integers(0, 12))
def test_a_search_cut_short_still_has_a_cover_and_a_bound(
    load: int, types: Types, nodes: int
) -> None:
    capacities, prices, limits = map(list, zip(*types, strict=True))
    cover = search_cover(load, capacities, prices, limits, nodes)
    covers = mixes(load, types)
    if cover is None:
        assert covers == []
    else:
        assert cover.least <= min(covers)[0]
        assert cover.brokers in {mix for _, _, mix in covers}


@pytest.mark.parametrize("seed", range(6))
def test_large_covers_agree_with_an_independent_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    capacities = rng.integers(10**8, 10**9, 4).tolist()
    prices = [round(c / 1e8 * rng.uniform(0.9, 1.1), 2) for c in capacities]
    load = int(rng.integers(10**10, 10**11))
    found = cheapest_cover(load, capacities, prices, [None] * 4)
    assert found is not None
    assert sum(n * c for n, c in zip(found, capacities, strict=True)) >= load
    rent = sum(n * usd for n, usd in zip(found, prices, strict=True))
    assert rent == pytest.approx(least_rent(load, capacities, prices), rel=1e-6)


def least_rent(load: int, capacities: list[int], prices: list[float]) -> float:
    solver: Any = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("mip_rel_gap", 1e-9)
    numbers = [solver.addIntegral(lb=0, obj=usd) for usd in prices]
    # In units of the load, as the solver's tolerances are absolute.
    carried = sum((c / load) * n for c, n in zip(capacities, numbers, strict=True))
    solver.addConstr(carried >= 1)
    solver.run()
    return float(solver.getInfo().objective_function_value)


def test_equal_value_for_money_needs_no_long_search() -> None:
    """Twice the capacity for twice the price, as clouds sell it."""
    capacities = [64 * 2**i for i in range(8)]
    prices = [0.105 * 240 * 2**i for i in range(8)]
    cover = search_cover(10**5 + 1, capacities, prices, [None] * 8, nodes=200)
    assert cover is not None
    rent = sum(n * rational(usd) for n, usd in zip(cover.brokers, prices, strict=True))
    assert rent == cover.least == Fraction("25.2") * 1563
    assert sum(cover.brokers) == 16


def test_prices_are_read_as_they_were_meant() -> None:
    assert rational(0.1 + 0.2) == Fraction(3, 10)
    assert rational(0.0) == 0
    assert rational(math.pi) == Fraction(math.pi)


def test_no_load_needs_no_broker_and_a_small_fleet_is_no_cover() -> None:
    assert cheapest_cover(0, [5, 7], [1.0, 2.0], [None, 1]) == (0, 0)
    assert cheapest_cover(18, [5, 7], [1.0, 2.0], [2, 1]) is None
    fleet, prices = fleet_of([(5, 1.0, 2), (7, 2.0, 1)])
    assert cover_bound(18, fleet, prices) == math.inf
    assert cover_bound(0, fleet, prices) == 0
    assert fewest_brokers(18, fleet) is None
