"""What keeps a plan from delivering more."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Bools, Int64s
from brokerwise.model.fleet import Fleet
from brokerwise.model.plan import Plan
from brokerwise.model.workload import Workload
from brokerwise.planners.fill.demand import Demand


@dataclass(frozen=True)
class Limits:
    """How much more could be served, were there room.

    Attributes
    ----------
    brokers
        How many the fleet has.
    full
        How many of them have no room for any pair that is left over.
    left_over
        Pairs that are not served, though they are worth something and fit on the
        largest broker.
    """

    brokers: int
    full: int
    left_over: int


def limits(plan: Plan, workload: Workload) -> Limits:
    """What limits a plan of kind fill; O(topics + runs + pairs).

    A pair that is left over needs its rate on a broker that has its topic, and twice
    as much on any other.
    """
    demand = Demand.of(workload, plan.weights)
    carried, ids = demand.carried(plan.fleet.largest_capacity)
    served = np.bincount(plan.placement.topic, plan.placement.pairs, demand.topics)
    over = np.zeros(demand.topics, np.int64)
    over[ids] = np.maximum(carried.followers - served[ids].astype(np.int64), 0)
    number = int(_counts(plan.fleet).sum())
    if not over.any():
        return Limits(number, 0, 0)
    return Limits(number, _full(plan, demand.rates, over > 0), int(over.sum()))


def _full(plan: Plan, rates: Int64s, over: Bools) -> int:
    brokers, runs = plan.brokers, plan.placement
    need = np.full(len(brokers), 2 * int(rates[over].min()))
    has = over[runs.topic]
    np.minimum.at(need, runs.broker[has], rates[runs.topic[has]])
    full = int(np.count_nonzero(brokers.capacity - brokers.load < need))
    unused = _counts(plan.fleet) - np.bincount(
        brokers.type, minlength=len(plan.fleet.broker_types)
    )
    small = np.array([kind.capacity for kind in plan.fleet]) < 2 * rates[over].min()
    return full + int(unused[small].sum())


def _counts(fleet: Fleet) -> Int64s:
    return np.array([kind.count or 0 for kind in fleet], np.int64)
