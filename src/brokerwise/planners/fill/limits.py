"""What keeps a plan from delivering more, and how many brokers would carry all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Bools, Int64s
from brokerwise.model.fleet import Fleet
from brokerwise.model.plan import Plan
from brokerwise.model.workload import Workload
from brokerwise.planners.control import Stop, never
from brokerwise.planners.fill.filling import HEURISTICS
from brokerwise.planners.fill.problem import Demand

# Beyond, to look would take longer than to plan.
MOST_PAIRS = 2_000_000
MOST_BROKERS = 20_000


def enough(
    demand: Demand,
    capacity: int,
    *,
    least: int = 1,
    algorithms: Sequence[str] = tuple(HEURISTICS),
    stop: Stop = never,
) -> int | None:
    """The smallest number found, from `least` up, of brokers of this capacity with
    which one of the algorithms serves all pairs that fit and are worth something.

    Found, not proven to be the smallest. Tries the number that the load needs, then
    more in growing steps, then halves what is between: O(log brokers) runs of each
    algorithm. None where that would take too long, or `stop` said so before any
    number was found.
    """
    carried, _ = demand.carried(capacity)
    wanted = int(carried.pairs.sum())
    low = max(least, _needed(carried, capacity))
    always = max(low, _always(carried, capacity))
    if wanted > MOST_PAIRS:
        return None

    def suffices(brokers: int) -> bool:
        sizes = np.full(brokers, capacity, np.int64)
        drafts = (HEURISTICS[name](carried, sizes) for name in algorithms)
        return any(int(draft.pairs.sum()) == wanted for draft in drafts)

    failed, step = low - 1, 1
    while low < always and not suffices(low):
        failed, low, step = low, min(low + step, always), 2 * step
        if low > MOST_BROKERS or stop():
            return None
    while low - failed > 1:
        middle = (failed + low) // 2
        if suffices(middle):
            low = middle
        else:
            failed = middle
    return low


def _needed(demand: Demand, capacity: int) -> int:
    """Fewer cannot carry the load, even if nothing is received twice."""
    load = int(demand.rates @ (1 + demand.followers))
    return -(-load // capacity)


def _always(demand: Demand, capacity: int) -> int:
    """So many are enough for sure: no two topics share a broker."""
    each = capacity // demand.rates - 1
    return int(np.sum(-(-demand.followers // each)))


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
