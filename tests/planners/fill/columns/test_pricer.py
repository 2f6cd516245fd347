"""What prices prove, whatever they are."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.cases import CASES, FEW_TOPICS, Case, demand_of
from tests.planners.fill.columns.parts import (
    ENOUGH,
    check_patterns,
    limits_for,
    supply_of,
)
from tests.planners.fill.oracle import Topic, most_by_brute_force, most_by_splitting
from tests.tiers import examples

from brokerwise.planners.control import never
from brokerwise.planners.fill.columns import pricer as module
from brokerwise.planners.fill.columns.master import Limits, Solution
from brokerwise.planners.fill.columns.pricer import Pricer, PricingResult
from brokerwise.planners.fill.columns.supply import Effort, Supply

PRICE = st.floats(-3, 60) | st.integers(0, 40).map(float)


def at_any_prices(
    topics: list[Topic], supply: Supply, limits: Limits, data: st.DataObject
) -> PricingResult:
    demand = demand_of(topics)
    pricer = Pricer(demand, supply.sizes, Effort(ENOUGH, never))
    solution = Solution(
        0.0,
        np.array([data.draw(PRICE) for _ in topics]),
        np.array([data.draw(PRICE) for _ in supply.resources]),
        {step: data.draw(PRICE) - 20 for step in limits},
        np.zeros(0),
    )
    trial = data.draw(st.booleans())
    return pricer.price(solution, limits, demand.pairs, supply, trial=trial)


@settings(max_examples=examples(200))
@given(case=CASES, data=st.data())
def test_no_plan_within_limits_exceeds_the_bound_at_any_prices(
    case: Case, data: st.DataObject
) -> None:
    topics, capacities = case
    limits = data.draw(limits_for(len(topics), len(capacities)))
    supply = supply_of(capacities)
    priced = at_any_prices(topics, supply, limits, data)
    best = most_by_brute_force(topics, capacities, limits=limits)
    assert best is None or best <= priced.bound
    check_patterns(priced.patterns, topics, supply)
    for pattern in priced.all:
        check_patterns([pattern], topics, supply)
    keys = {pattern.key for pattern in priced.all}
    assert {pattern.key for pattern in priced.improving} <= keys


@settings(max_examples=examples(80))
@given(
    topics=FEW_TOPICS,
    total=st.integers(2, 20),
    largest=st.integers(10, 20),
    data=st.data(),
)
def test_no_split_exceeds_the_bound_at_any_prices(
    topics: list[Topic], total: int, largest: int, data: st.DataObject
) -> None:
    supply = Supply(np.array([largest]), np.zeros(1, np.int64), total)
    priced = at_any_prices(topics, supply, {}, data)
    assert most_by_splitting(topics, total, largest) <= priced.bound
    check_patterns(priced.patterns, topics, supply)


@settings(max_examples=examples(50))
@given(case=CASES, data=st.data())
def test_to_ask_more_often_changes_nothing(case: Case, data: st.DataObject) -> None:
    topics, capacities = case
    demand, supply = demand_of(topics), supply_of(capacities)
    prices = Solution(
        0.0,
        np.array([data.draw(PRICE) for _ in topics]),
        np.zeros(len(supply.resources)),
        {},
        np.zeros(0),
    )
    found = []
    for steps in (ENOUGH, 0):
        with patch.object(module, "_MOST_STEPS", steps):
            pricer = Pricer(demand, supply.sizes, Effort(ENOUGH, never))
            found.append(pricer.price(prices, {}, demand.pairs, supply))
    one, other = found
    assert one.bound == other.bound
    some, same = (
        [p.key for p in priced.patterns if len(p.topic)] for priced in (one, other)
    )
    assert some == same


@pytest.mark.parametrize("brokers", [1, 2, 3, 4])
@pytest.mark.parametrize("scale", [1, 10**5, 10**7])
def test_gains_that_add_up_to_large_numbers_prove_nothing_wrong(
    brokers: int, scale: int
) -> None:
    """One pair of each topic is worth a million times more than the others; at its
    price many would be worth more than fits in 64 bits, were prices too fine."""
    topics: list[Topic] = [(1, (scale * 10**6, *[scale] * 999))] * 3
    demand, supply = demand_of(topics), supply_of([1000] * brokers)
    assert Pricer.can_price(demand, supply.sizes)
    pricer = Pricer(demand, supply.sizes, Effort(ENOUGH, never))
    dearest = Solution(
        0.0, pricer.most_value.astype(np.float64), np.zeros(1), {}, np.zeros(0)
    )
    bound = pricer.price(dearest, {}, demand.pairs, supply).bound
    assert bound >= scale * (3 * 10**6 + 994)


def test_tables_that_are_too_large_are_not_made() -> None:
    sizes = np.array([100])
    assert Pricer.can_price(demand_of([(2, (1,) * 9), (3, (1,))]), sizes)
    with patch.object(module, "_CELLS", 201):
        assert not Pricer.can_price(demand_of([(2, (1,) * 9), (3, (1,))]), sizes)
    with patch.object(module, "MOST_PAIRS", 8):
        assert not Pricer.can_price(demand_of([(2, (1,) * 9), (3, (1,))]), sizes)
        assert Pricer.can_price(demand_of([(2, (1,) * 8), (3, (1,))]), sizes)
    with patch.object(module, "_LONGEST", 999):
        assert not Pricer.can_price(demand_of([(2, (1,) * 9), (3, (1,))]), sizes)
    assert not Pricer.can_price(demand_of([(1, (2**58,) * 9)]), sizes)
