"""How many brokers of one size would carry everything."""

from collections.abc import Sequence

import numpy as np

from brokerwise.planners.control import Stop, never
from brokerwise.planners.fill.demand import Demand
from brokerwise.planners.fill.heuristics import HEURISTICS

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
