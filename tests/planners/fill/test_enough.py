"""How many brokers of one size would carry everything."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.planners.fill import enough as module
from brokerwise.planners.fill.demand import Demand
from brokerwise.planners.fill.enough import enough
from brokerwise.planners.fill.heuristics import HEURISTICS


@st.composite
def wants(draw: st.DrawFn) -> tuple[Demand, int]:
    topic = st.tuples(st.integers(0, 20), st.integers(0, 9))
    rates, followers = np.array(draw(st.lists(topic, min_size=1, max_size=9))).T
    return Demand.of_counts(rates, followers), draw(st.integers(2, 60))


@given(case=wants(), least=st.integers(1, 4))
def test_the_number_found_carries_everything_that_fits(
    case: tuple[Demand, int], least: int
) -> None:
    demand, capacity = case
    number = enough(demand, capacity, least=least)
    assert number is not None
    assert number >= least
    fits = (demand.rates > 0) & (2 * demand.rates <= capacity)
    followers = demand.followers[fits]
    carried, _ = demand.carried(capacity)
    load = int(demand.rates[fits & (demand.followers > 0)].sum())
    load += int(demand.rates[fits] @ followers)
    assert number * capacity >= load
    alone = sum(
        -(-int(n) // (capacity // int(rate) - 1))
        for rate, n in zip(demand.rates[fits], followers, strict=True)
    )
    assert number <= max(least, alone)
    sizes = np.full(number, capacity)
    best = max(int(run(carried, sizes).pairs.sum()) for run in HEURISTICS.values())
    # With a broker for every piece nothing has to be tried.
    assert best == followers.sum() or number == max(least, alone)


def test_one_less_did_not_suffice() -> None:
    """Topics of rate 3 for one each: two to a broker of 12, though 11 / 6 is less."""
    demand = Demand.of_counts(np.full(11, 3), np.ones(11, np.int64))
    assert enough(demand, 12) == 6
    assert enough(demand, 12, least=9) == 9
    assert enough(demand, 12, algorithms=("greedy",)) == 6


def test_a_long_way_is_halved() -> None:
    """The load needs 51 brokers, but no two topics fit on one."""
    demand = Demand.of_counts(np.full(100, 5), np.ones(100, np.int64))
    assert enough(demand, 19) == 100


def test_nothing_wanted_needs_nothing_more() -> None:
    assert enough(Demand.of_counts(np.array([9, 0]), np.array([0, 4])), 20) == 1


@pytest.mark.parametrize(("limit", "most"), [("MOST_PAIRS", 99), ("MOST_BROKERS", 60)])
def test_what_would_take_too_long_is_not_searched(
    limit: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, limit, most)
    demand = Demand.of_counts(np.full(100, 5), np.ones(100, np.int64))
    assert enough(demand, 19) is None


def test_it_stops_when_told() -> None:
    demand = Demand.of_counts(np.full(100, 5), np.ones(100, np.int64))
    assert enough(demand, 19, stop=lambda: True) is None
