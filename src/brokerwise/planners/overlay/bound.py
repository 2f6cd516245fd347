"""What every wiring must cost at least.

Access: users at their cheapest broker, with prices for brokers that are overrun. The
least access cost of any wiring is at least, for any prices, what users pay if each goes
to its cheapest broker, prices included, less what all capacity is worth. The best
prices are found by raising those of brokers that are overrun.

Core: a sub-channel is on at least as many brokers as its followers need, and these are
joined by at least as many of the cheapest links that close no circle.

Where followers are spread, more can be proven. Around groups of close brokers there are
rings (`Nesting`): links that bring a sub-channel into a group from outside of it cost
at least the ring's width there. So if some follower is in the group, the ring must be
paid for. We charge it to followers whose cheapest broker is in the group, but never
more than what it would cost them to go elsewhere: the cheapest that they can do is to
stay, and to pay. What all users pay then is no more than any wiring costs.

"Outside" is one broker, the root, that the sub-channel is taken to be on. If it is not,
to join it would cost no more than the root's longest link: that is charged to followers
whose cheapest broker is the root, and taken off.
"""

from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.overlay_bound import Groups, absorb, relaxed_access
from brokerwise.kernels.overlay_packing import pack_cheapest
from brokerwise.model.arrays import Bools, Int32s, Int64s, read_only
from brokerwise.planners.overlay.placing import Unplaced, empty_wiring, settled
from brokerwise.planners.overlay.problem import Demand
from brokerwise.planners.overlay.tree import spanning_tree

_PATIENCE = 10  # rounds without progress until steps are halved
_SMALLEST_STEP = 1e-4

_OUT_OF_REACH = 2**62
_TRIES = 400  # followers that are asked to pay for a ring
_MOST_CHARGED = 200_000_000  # users times brokers, up to which charges are tried


@dataclass(frozen=True, eq=False)
class Prices:
    """Of a unit of load on each broker, in thousandths; and the bound on the access
    cost that they prove."""

    prices: Int64s
    bound: int


def find_prices(demand: Demand, target: int, rounds: int) -> Prices:
    """Good prices, by subgradient steps towards `target`, the cost of some wiring.

    Each round costs O(users * brokers).
    """
    best = Prices(np.zeros(demand.brokers, np.int64), -1)
    point = np.zeros(demand.brokers)
    usage = np.zeros(demand.brokers, np.int64)
    step, waited = 1.0, 0
    dearest = demand.access.max(initial=0)
    for _ in range(rounds):
        prices = np.rint(point).astype(np.int64)
        paid, _ = relaxed_access(demand.load, demand.access, prices, usage)
        value = paid - worth(demand.capacity, prices)
        waited += 1
        if value > best.bound:
            best, waited = Prices(prices, value), 0
        over = (usage - demand.capacity).astype(np.float64)
        over[(prices == 0) & (over < 0)] = 0
        if not over.any() or value >= target or step < _SMALLEST_STEP:
            break
        if waited >= _PATIENCE:
            step, waited, point = step / 2, 0, best.prices.astype(np.float64)
            continue
        ahead = point + step * (target - value) / (over @ over) * over
        point = np.clip(ahead, 0, dearest)
    return best


def worth(capacity: Int64s, prices: Int64s) -> int:
    """What all capacity is worth at these prices, however large."""
    pairs = zip(capacity.tolist(), prices.tolist(), strict=True)
    return sum(room * price for room, price in pairs)


def priced(demand: Demand, prices: Int64s) -> Int32s | Unplaced:
    """Each user to its cheapest broker with room, prices included; those first whose
    second choice would cost most more."""
    reached = demand.access >= 0
    asked = np.where(reached, demand.access + prices, np.iinfo(np.int64).max // 2)
    if demand.brokers > 1:
        two = np.partition(asked, 1, axis=1)[:, :2]
        regret = two[:, 1] - two[:, 0]
    else:
        regret = np.zeros(demand.users, np.int64)
    order = np.argsort(-regret, kind="stable")
    room, broker = empty_wiring(demand)
    access = read_only(np.where(reached, asked, -1))
    pack_cheapest(order, demand.load, access, room, broker)
    return settled(demand, broker)


@dataclass(frozen=True, eq=False)
class Nesting:
    """How brokers join to ever larger groups, the closest first (Kruskal).

    In `order`, every group is some brokers one after the other: low[g] to high[g].
    Group g joins another when links of cost `until[g]` are allowed, and was made by
    links of cost `since[g]`; small groups come first. Any connected links that reach a
    group from outside cost at least until - since within that ring around it, and
    rings of different groups have no part in common.
    """

    order: Int32s
    low: Int64s
    high: Int64s
    since: Int64s
    until: Int64s

    @classmethod
    def of(cls, core: Int64s, tree: Int32s) -> "Nesting":
        """From the links of the minimum spanning tree, the cheapest first."""
        members = {broker: [broker] for broker in range(len(core))}
        made = dict.fromkeys(members, 0)
        group = list(range(len(core)))
        groups: list[tuple[list[int], int, int]] = []
        for a, b in tree.tolist():
            first, second = group[a], group[b]
            cost = int(core[a, b])
            groups += [(members[g], made[g], cost) for g in (first, second)]
            for broker in members[second]:
                group[broker] = first
            members[first] = members[first] + members.pop(second)
            made[first] = cost
        (order,) = members.values() if len(core) else ([],)
        place = np.argsort(np.array(order, np.int64))
        rows = sorted(
            (len(brokers), int(place[brokers].min()), since, until)
            for brokers, since, until in groups
        )
        size, low, since, until = np.array(rows, np.int64).reshape(-1, 4).T
        return cls(np.array(order, np.int32), low, low + size, since, until)


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
            Groups(
                np.concatenate([brokers, nesting.low]),
                np.concatenate([brokers + 1, nesting.high]),
                np.concatenate([joined, rings], axis=1),
            ),
            _TRIES,
            found,
        )
        least: Int64s = found - self._joining * total
        return least
