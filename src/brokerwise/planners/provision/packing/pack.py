"""Stage 2: on which brokers the selected pairs go.

(a) to (e) are the steps of Setty et al. (ICDCS 2014), so that the effect of each can
be seen; `tight` is ours. Where the printed algorithms contradict the load law, they
are corrected: a topic that is new to a broker needs room for its incoming stream too,
and no capacity is ever exceeded.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from brokerwise.kernels.packing_steps import IN_ORDER, MOST_FREE
from brokerwise.model.fleet import Fleet, Prices
from brokerwise.planners.provision.packing.pieces import (
    Counter,
    Demand,
    Packing,
    Pieces,
    by_rate,
    by_volume,
    custom,
    first_fit,
    grouped,
)
from brokerwise.planners.provision.packing.tight import WORK, tight

PACKINGS: Mapping[str, str] = MappingProxyType(
    {
        "first-fit": "(a) pair by pair, on the first broker with room",
        "grouped": "(b) a topic's pairs together, in order of topics",
        "grouped-largest": "(c) as grouped, the largest volume first",
        "most-free": "(d) as grouped-largest, the roomiest broker first",
        "custom": "(e) as most-free, spread only where that is cheaper",
        "tight": "ours: brokers full, and cuts where they cost least",
    }
)


def pack(
    name: str,
    demand: Demand,
    fleet: Fleet,
    prices: Prices,
    stop: Callable[[], bool],
    work: int | None = WORK,
) -> Packing | None:
    """Put every selected pair on a broker; no capacity is exceeded.

    None if the fleet has limits and no packing within them was found, which proves
    nothing. `work` limits the search of `tight`; with None only `stop` ends it.
    Nothing selected needs no broker. The same input gives the same packing, unless
    it was stopped.
    """
    demand.check(fleet)
    if not demand.counts.any():
        nothing = np.full(len(demand.counts), -1, np.int32)
        empty = np.empty((0, 3), np.int64)
        return Pieces(np.empty(0, np.int32), nothing, empty).packing(demand.counts)
    found = _pieces(name, demand, Counter(fleet, prices), stop, work)
    return None if found is None else found.packing(demand.counts)


def _pieces(
    name: str,
    demand: Demand,
    counter: Counter,
    stop: Callable[[], bool],
    work: int | None,
) -> Pieces | None:
    match name:
        case "first-fit":
            return first_fit(demand, counter)
        case "grouped":
            return grouped(demand, counter, by_rate(demand), IN_ORDER)
        case "grouped-largest":
            return grouped(demand, counter, by_volume(demand), IN_ORDER)
        case "most-free":
            return grouped(demand, counter, by_volume(demand), MOST_FREE)
        case "custom":
            return custom(demand, counter, by_volume(demand))
        case "tight":
            return tight(demand, counter, stop, work)
    raise ValueError(f"packing: found {name!r}, expected {', '.join(PACKINGS)}")
