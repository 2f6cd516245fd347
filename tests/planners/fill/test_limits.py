"""What keeps a plan from delivering more."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.plan import Plan
from brokerwise.model.weights import PLAIN, Weights
from brokerwise.model.workload import Workload
from brokerwise.planners.fill.limits import Limits, limits
from brokerwise.planners.fill.options import Options
from brokerwise.planners.fill.solve import Problem, solve


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
