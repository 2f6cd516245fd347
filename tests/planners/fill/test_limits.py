"""What keeps a plan from delivering more, and how many brokers would be enough."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planners.fill.cases import demand_of_counts

from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.plan import Plan
from brokerwise.model.workload import PLAIN, Weights, Workload
from brokerwise.planners.fill import limits as module
from brokerwise.planners.fill.filling import HEURISTICS
from brokerwise.planners.fill.limits import Limits, enough, limits
from brokerwise.planners.fill.problem import Demand, Options
from brokerwise.planners.fill.solve import Problem, solve


@st.composite
def wants(draw: st.DrawFn) -> tuple[Demand, int]:
    topic = st.tuples(st.integers(0, 20), st.integers(0, 9))
    rates, followers = np.array(draw(st.lists(topic, min_size=1, max_size=9))).T
    return demand_of_counts(rates, followers), draw(st.integers(2, 60))


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
    demand = demand_of_counts(np.full(11, 3), np.ones(11, np.int64))
    assert enough(demand, 12) == 6
    assert enough(demand, 12, least=9) == 9
    assert enough(demand, 12, algorithms=("greedy",)) == 6


def test_a_long_way_is_halved() -> None:
    """The load needs 51 brokers, but no two topics fit on one."""
    demand = demand_of_counts(np.full(100, 5), np.ones(100, np.int64))
    assert enough(demand, 19) == 100


def test_nothing_wanted_needs_nothing_more() -> None:
    assert enough(demand_of_counts(np.array([9, 0]), np.array([0, 4])), 20) == 1


@pytest.mark.parametrize(("limit", "most"), [("MOST_PAIRS", 99), ("MOST_BROKERS", 60)])
def test_what_would_take_too_long_is_not_searched(
    limit: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, limit, most)
    demand = demand_of_counts(np.full(100, 5), np.ones(100, np.int64))
    assert enough(demand, 19) is None


def test_it_stops_when_told() -> None:
    demand = demand_of_counts(np.full(100, 5), np.ones(100, np.int64))
    assert enough(demand, 19, stop=lambda: True) is None


@st.composite
def plans(draw: st.DrawFn) -> tuple[Plan, Workload]:
    pairs = draw(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=20))
    workload = Workload.from_pairs(
        topics=[t for t, _ in pairs],
        subscribers=[s for _, s in pairs],
        rates=draw(st.lists(st.integers(0, 12), min_size=5, max_size=5)),
    )
    sizes = draw(st.sets(st.integers(1, 50), min_size=1, max_size=3))
    fleet = Fleet(tuple(BrokerType(f"b{s}", s, draw(st.integers(1, 3))) for s in sizes))
    weights = PLAIN
    if draw(st.booleans()):
        weight = st.integers(0, 3)
        number = workload.subscribers
        weights = Weights(
            np.array(draw(st.lists(weight, min_size=5, max_size=5)), np.int64),
            np.array(
                draw(st.lists(weight, min_size=number, max_size=number)), np.int64
            ),
        )
    options = Options(draw(st.sampled_from(["greedy", "mkp"])), "paper")
    return solve(Problem(workload, fleet, weights), options), workload


def by_hand(plan: Plan, workload: Workload) -> Limits:
    """Tries every pair that is not served on every broker, one after the other."""
    weights = plan.weights
    largest = max(kind.capacity for kind in plan.fleet)
    over = set()
    number = 0
    for subscriber in range(workload.subscribers):
        served = set(plan.selected.of(subscriber).tolist())
        for topic in set(workload.interests.of(subscriber).tolist()) - served:
            weight = 1 if weights.topics is None else int(weights.topics[topic])
            if weights.subscribers is not None:
                weight *= int(weights.subscribers[subscriber])
            if weight and 0 < 2 * workload.rates[topic] <= largest:
                over.add(topic)
                number += 1
    runs = plan.placement
    on = set(zip(runs.topic.tolist(), runs.broker.tolist(), strict=True))
    rooms = [
        (broker, int(plan.brokers.capacity[broker] - plan.brokers.load[broker]))
        for broker in range(len(plan.brokers))
    ]
    for number_of_type, kind in enumerate(plan.fleet):
        used = int(np.count_nonzero(plan.brokers.type == number_of_type))
        rooms += [(-1, kind.capacity)] * ((kind.count or 0) - used)
    able = {
        place
        for (place, (broker, room)), topic in product(enumerate(rooms), over)
        if room >= workload.rates[topic] * (1 if (topic, broker) in on else 2)
    }
    return Limits(len(rooms), len(rooms) - len(able) if over else 0, number)


@given(case=plans())
def test_full_brokers_are_those_on_which_nothing_more_fits(
    case: tuple[Plan, Workload],
) -> None:
    assert limits(*case) == by_hand(*case)
