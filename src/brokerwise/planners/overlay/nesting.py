"""Groups of brokers that are close to each other, one within the other."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s


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
