"""Which brokers are so full that users have dearer links than they could."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.planners.overlay.problem import Demand

_LINKS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Limits:
    """What capacity does to a wiring.

    Attributes
    ----------
    used
        Brokers that have a user.
    full
        Brokers without room for some user whose access link to them is cheaper than
        the one that it has.
    kept
        The users that those brokers have no room for.
    """

    used: int
    full: int
    kept: int


def limits(plan: OverlayPlan, network: Network) -> Limits:
    """O(users * brokers), some users at a time."""
    load = Demand.of(network).load
    room = network.capacity - plan.load
    full = np.zeros(network.brokers, np.bool_)
    kept = 0
    each = max(1, _LINKS_AT_ONCE // max(1, network.brokers))
    for first in range(0, network.users, each):
        some = slice(first, first + each)
        links = network.access[some]
        own = np.take_along_axis(links, plan.broker[some, None].astype(np.int64), 1)
        refused = (links >= 0) & (links < own) & (load[some, None] > room)
        full |= refused.any(axis=0)
        kept += int(refused.any(axis=1).sum())
    used = len(np.unique(plan.broker))
    return Limits(used, int(full.sum()), kept)
