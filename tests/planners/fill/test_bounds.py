"""Bounds that take no search."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.cases import CASES, FEW_TOPICS, Case, demand_of
from tests.planners.fill.oracle import Topic, most_by_brute_force, most_by_splitting
from tests.tiers import examples

from brokerwise.planners.fill import bounds
from brokerwise.planners.fill.bounds import merged_bound, paper_bound, quick_bound
from brokerwise.planners.fill.demand import Demand


@settings(max_examples=examples(200))
@given(case=CASES)
def test_no_plan_exceeds_a_bound(case: Case) -> None:
    topics, capacities = case
    best = most_by_brute_force(topics, capacities)
    demand, bandwidth = demand_of(topics), sum(capacities)
    assert best is not None
    assert best <= paper_bound(demand, bandwidth)
    assert best <= quick_bound(demand, bandwidth, max(capacities))
    assert best <= merged_bound(demand, bandwidth, max(capacities))


@settings(max_examples=examples(60))
@given(
    topics=FEW_TOPICS,
    total=st.integers(4, 20),
    largest=st.integers(4, 20),
)
def test_no_split_exceeds_a_bound(
    topics: list[Topic], total: int, largest: int
) -> None:
    size = min(total, largest)
    fitting = [topic for topic in topics if 2 * topic[0] <= size]
    best = most_by_splitting(fitting, total, largest)
    demand = demand_of(fitting)
    assert best <= paper_bound(demand, total)
    assert best <= merged_bound(demand, total, size)


@given(
    topics=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=6),
    bandwidth=st.integers(1, 400),
)
def test_without_weights_the_papers_bound_is_bandwidth_or_all_that_is_wanted(
    topics: list[tuple[int, int]], bandwidth: int
) -> None:
    rates, followers = np.array(topics, np.int64).reshape(-1, 2).T.copy()
    wanted = int(rates @ followers)
    found = paper_bound(Demand.of_counts(rates, followers), bandwidth)
    assert found == min(bandwidth, wanted)


@given(case=CASES)
def test_one_broker_is_bounded_exactly_by_merging(case: Case) -> None:
    topics, (capacity, *_) = case
    topics = [topic for topic in topics if 2 * topic[0] <= capacity]
    best = most_by_brute_force(topics, [capacity])
    assert merged_bound(demand_of(topics), capacity, capacity) == best


@given(case=CASES)
def test_merging_is_never_looser_than_the_quick_bound(case: Case) -> None:
    topics, capacities = case
    arguments = (demand_of(topics), sum(capacities), max(capacities))
    merged, quick = merged_bound(*arguments), quick_bound(*arguments)
    assert merged <= quick
    for limit in ("_STEPS", "_LARGEST"):
        with patch.object(bounds, limit, 0):
            assert merged_bound(*arguments) == quick


def test_a_set_up_for_every_broker_is_counted() -> None:
    """Two pairs of rate 10 need 40 of brokers that hold one pair, and 30 of others."""
    demand = Demand.of_counts(np.array([10]), np.array([4]))
    assert quick_bound(demand, 40, 20) == 20
    assert quick_bound(demand, 40, 40) == 30
    assert paper_bound(demand, 40) == 40


def test_a_bound_is_a_number_that_values_add_up_to() -> None:
    demand = Demand.of_counts(np.array([6, 10]), np.array([5, 5]))
    assert quick_bound(demand, 39, 39) % 2 == 0


@pytest.mark.parametrize("bound", [quick_bound, merged_bound])
def test_where_nothing_is_wanted_nothing_is_the_bound(bound: object) -> None:
    nothing = Demand.of_counts(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert callable(bound)
    assert bound(nothing, 100, 10) == 0
    assert paper_bound(nothing, 100) == 0


def test_numbers_near_the_largest_do_no_harm() -> None:
    demand = Demand.of_counts(np.array([2**60]), np.array([5]))
    assert paper_bound(demand, 2**63 - 1) == 5 * 2**60
    assert quick_bound(demand, 2**63 - 1, 2**63 - 1) == 5 * 2**60
    assert quick_bound(demand, 2**62, 2**62) >= 3 * 2**60
