"""What every wiring must cost at least.

Access: users at their cheapest broker, with prices for brokers that are overrun
(`prices.py`). Core: a sub-channel is on at least as many brokers as its followers need,
and these are joined by at least as many of the cheapest links that close no circle.

Where followers are spread, more can be proven. Around groups of close brokers there
are rings (`nesting.py`): links that bring a sub-channel into a group from outside of it
cost at least the ring's width there. So if some follower is in the group, the ring
must be paid for. We charge it to followers whose cheapest broker is in the group, but
never more than what it would cost them to go elsewhere: the cheapest that they can
do is to stay, and to pay. What all users pay then is no more than any wiring costs.

"Outside" is one broker, the root, that the sub-channel is taken to be on. If it is
not, to join it would cost no more than the root's longest link: that is charged to
followers whose cheapest broker is the root, and taken off.
"""

from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.overlay_bound import absorb
from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.nesting import Nesting
from brokerwise.planners.overlay.prices import Prices
from brokerwise.planners.overlay.tree import spanning_tree

_OUT_OF_REACH = 2**62
_TRIES = 400  # followers that are asked to pay for a ring
_MOST_CHARGED = 200_000_000  # users times brokers, up to which charges are tried


@dataclass(frozen=True)
class Bound:
    """In thousandths: no wiring costs less than both together, nor its access less than
    `access`. Its core may cost less than `core`, at the expense of access."""

    access: int
    core: int

    @property
    def total(self) -> int:
        return self.access + self.core


def lower_bound(demand: Demand, prices: Prices) -> Bound:
    """Holds for one tree of all brokers, too: none of it assumes that a sub-channel's
    links join its own brokers only. O(users * brokers) memory, and several times as
    much work for the sub-channels' charges."""
    tree = spanning_tree(demand.core)
    fewest = _fewest_links(demand, tree)
    if demand.brokers < 2 or demand.users * demand.brokers > _MOST_CHARGED:
        return Bound(prices.bound, int(fewest.sum()))
    charges = _Charges(demand, prices, Nesting.of(demand.core, tree))
    best = Bound(prices.bound, int(fewest.sum()))
    charged = demand.total > 0
    for _ in range(2):  # again without those that charges gave nothing for
        found = charges.absorbed(charged)
        core = np.maximum(found, fewest)
        if prices.bound + int(core.sum()) > best.total:
            best = Bound(prices.bound, int(core.sum()))
        charged &= found > fewest
    return best


def _fewest_links(demand: Demand, tree: Int32s) -> Int64s:
    """Of each sub-channel, the cost of the fewest links that it can do with."""
    offsets, followers = demand.followers
    largest = np.cumsum(np.sort(demand.capacity)[::-1].astype(np.float64))
    links = demand.core[tree[:, 0], tree[:, 1]]
    cheapest = np.concatenate([[0], np.cumsum(links)])
    least = np.zeros(demand.subchannels, np.int64)
    for subchannel in np.flatnonzero(demand.total):
        fans = followers[offsets[subchannel] : offsets[subchannel + 1]]
        need = float(demand.load[fans].sum())
        # Rounding of large sums must not ask for a broker too many.
        brokers = int(np.searchsorted(largest * (1 + 1e-12), need)) + 1
        common = (demand.access[fans] >= 0).all(axis=0).any()
        brokers = max(brokers, 1 if common else 2)
        least[subchannel] = cheapest[min(brokers, demand.brokers) - 1]
    return least * demand.total


class _Charges:
    """What followers can be charged for, at these prices."""

    def __init__(self, demand: Demand, prices: Prices, nesting: Nesting) -> None:
        self._demand, self._nesting = demand, nesting
        order = nesting.order
        reached = demand.access[:, order] >= 0
        asked = demand.access[:, order] + prices.prices[order]
        asked[~reached] = np.iinfo(np.int64).max
        self._home = asked.argmin(axis=1).astype(np.int32)
        least = asked[np.arange(demand.users), self._home]
        self._slack = np.where(
            reached, (np.where(reached, asked, 0) - least[:, None]), 0
        )
        self._slack *= demand.load[:, None]
        self._slack[~reached] = _OUT_OF_REACH
        offsets, followers = demand.followers
        row = np.repeat(np.arange(demand.subchannels), np.diff(offsets))
        by_home = np.lexsort((followers, self._home[followers], row))
        self._offsets, self._followers = offsets, followers[by_home]
        core = demand.core[np.ix_(order, order)]
        farthest = core.max(axis=1)
        central = np.argsort(farthest, kind="stable")[: max(1, len(core) // 2)]
        self._root = central[np.arange(demand.subchannels) % len(central)]
        self._joining = farthest[self._root]

    def absorbed(self, charged: Bools) -> Int64s:
        """What the core costs at least for each of the sub-channels that are charged,
        less what joining their root would cost."""
        nesting, total = self._nesting, np.where(charged, self._demand.total, 0)
        width = nesting.until - nesting.since
        root = self._root[:, None]
        outside = (root < nesting.low) | (root >= nesting.high)
        rings = np.where(outside, width, 0) * total[:, None]
        brokers = np.arange(self._demand.brokers)
        joined = np.where(brokers == root, (self._joining * total)[:, None], 0)
        found = np.zeros(self._demand.subchannels, np.int64)
        absorb(
            self._slack.copy(),
            self._home,
            self._offsets,
            self._followers,
            np.concatenate([brokers, nesting.low]),
            np.concatenate([brokers + 1, nesting.high]),
            np.concatenate([joined, rings], axis=1),
            _TRIES,
            found,
        )
        least: Int64s = found - self._joining * total
        return least
