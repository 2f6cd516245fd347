"""Topics rounded down to a few sizes: a problem that is no harder, and small.

For a model that is monotone. The topics of a group are taken for as light as its
lightest member in each respect: least processing time, least rate, most generous limit.
What was feasible stays so: rounded topics need no more brokers than the real ones.
"""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.planners.colocate.demand import Demand


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each replica, and how light its members are taken for."""

    of: Int64s
    processing_ms: Float64s
    rate_per_second: Float64s
    limit_ms: Float64s

    @property
    def number(self) -> Int64s:
        """How many replicas each group has."""
        return np.bincount(self.of, minlength=len(self.limit_ms))


def groups_of(demand: Demand, most: int) -> Groups:
    """At most so many groups: the one that loses most load by rounding is cut in two
    until there are enough. O(most * replicas)."""
    sizes = np.column_stack(
        (demand.processing_ms, demand.rate_per_second, -demand.limit_ms)
    )
    parts = [np.arange(len(demand))]
    losses = [_loss(sizes)]
    while len(parts) < most:
        worst = int(np.argmax(losses))
        if losses[worst] <= 0:
            break
        cut = _cut(parts[worst], sizes)
        parts[worst : worst + 1] = cut
        losses[worst : worst + 1] = [_loss(sizes[part]) for part in cut]
    of = np.empty(len(demand), np.int64)
    for number, part in enumerate(parts):
        of[part] = number
    least = np.array([sizes[part].min(axis=0) for part in parts])
    return Groups(of, least[:, 0], least[:, 1], -least[:, 2])


def _loss(sizes: Float64s) -> float:
    """What rounding takes off a group: load, and room below limits, as shares."""
    least = sizes.min(axis=0)
    load = (sizes[:, 0] * sizes[:, 1] - least[0] * least[1]).sum() / 1000
    limits = (1 - sizes[:, 2] / least[2]).sum()
    return float(load + limits)


def _cut(part: Int64s, sizes: Float64s) -> list[Int64s]:
    """The two parts that lose least, cut along one of the sizes."""
    best: tuple[float, list[Int64s]] | None = None
    for column in range(sizes.shape[1]):
        order = part[np.argsort(sizes[part, column], kind="stable")]
        values = sizes[order, column]
        places = np.flatnonzero(values[1:] > values[:-1]) + 1
        if not len(places):
            continue
        for at in np.unique(np.quantile(places, _TRIED, method="nearest")):
            cut = [order[:at], order[at:]]
            loss = sum(_loss(sizes[half]) for half in cut)
            if best is None or loss < best[0]:
                best = loss, cut
    assert best is not None  # a group without loss is not cut
    return best[1]


_TRIED = (0.25, 0.5, 0.75)  # of the places where a group can be cut
