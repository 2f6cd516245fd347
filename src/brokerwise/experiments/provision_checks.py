"""Whether a row of the experiment is what it says, counted again from the pairs.

Nothing of the planners or kernels is used here: the load law, needs and loads are
stated again, in numpy.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.placement import Placement
from brokerwise.model.workload import NO_THRESHOLD, Workload

Lists = tuple[Int64s, Int32s]


@dataclass(frozen=True, eq=False)
class Served:
    """What a selection gives to subscribers: pairs of each topic, and mistakes."""

    counts: Int64s
    subscribers: int
    short: int
    unwanted: int
    repeated: int

    def problems(self, subscribers: int) -> Iterator[str]:
        if self.subscribers != subscribers:
            yield f"{self.subscribers:,} of {subscribers:,} subscribers have a list"
        if self.short:
            yield f"{self.short:,} subscribers get less than they need"
        if self.unwanted:
            yield f"{self.unwanted:,} pairs are selected that nobody wants"
        if self.repeated:
            yield f"{self.repeated:,} pairs are selected twice"


def count_served(workload: Workload, threshold: int, blocks: Iterable[Lists]) -> Served:
    """Go through what is selected, block by block in order of subscribers."""
    counts = np.zeros(workload.topics, np.int64)
    first, mistakes = 0, np.zeros(3, np.int64)
    for offsets, topics in blocks:
        number = len(offsets) - 1
        np.add.at(counts, topics, 1)
        mistakes += _mistakes(workload, threshold, first, offsets, topics)
        first += number
    return Served(counts, first, *mistakes.tolist())


def _mistakes(
    workload: Workload, threshold: int, first: int, offsets: Int64s, topics: Int32s
) -> Int64s:
    number = len(offsets) - 1
    at = workload.interests.offsets[first : first + number + 1]
    wanted = workload.interests.topics[at[0] : at[-1]]
    received = _sums(workload.rates[topics], offsets)
    needs = _needs(workload, threshold, first, number)
    needs = np.minimum(needs, _sums(workload.rates[wanted], at - at[0]))
    asked, got = _keys(at, wanted, workload), _keys(offsets, topics, workload)
    got.sort()
    place = np.minimum(np.searchsorted(asked, got), max(len(asked) - 1, 0))
    known = asked[place] == got if len(asked) else np.zeros(len(got), np.bool_)
    return np.array(
        [
            np.count_nonzero(received < needs),
            np.count_nonzero(~known),
            np.count_nonzero(got[1:] == got[:-1]),
        ]
    )


def _needs(workload: Workload, threshold: int, first: int, number: int) -> Int64s:
    if workload.thresholds is None:
        return np.full(number, threshold, np.int64)
    own = workload.thresholds[first : first + number]
    return np.where(own == NO_THRESHOLD, threshold, own)


def _sums(values: Int64s, offsets: Int64s) -> Int64s:
    totals = np.concatenate((np.zeros(1, np.int64), np.cumsum(values)))
    sums: Int64s = totals[offsets[1:]] - totals[offsets[:-1]]
    return sums


def _keys(offsets: Int64s, topics: Int32s, workload: Workload) -> Int64s:
    """A number for each pair, ascending where topics of a subscriber are."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    keys: Int64s = owner * max(1, workload.topics) + topics
    return keys


def placement_problems(
    rates: Int64s, counts: Int64s, capacities: Int64s, placement: Placement
) -> Iterator[str]:
    """What is wrong with runs: a broker over its capacity, pairs lost or invented."""
    placed = np.zeros(len(counts), np.int64)
    np.add.at(placed, placement.topic, placement.pairs)
    differing = np.count_nonzero(placed != counts)
    if differing:
        yield f"{differing:,} topics have more or fewer pairs placed than selected"
    loads = np.zeros(len(capacities), np.int64)
    sent = rates[placement.topic] * placement.pairs
    np.add.at(loads, placement.broker, rates[placement.topic] + sent)
    over = np.flatnonzero(loads > capacities)
    if len(over):
        worst = over[np.argmax(loads[over] - capacities[over])]
        yield (
            f"{len(over):,} brokers are over their capacity, broker {worst} with "
            f"{loads[worst]:,} of {capacities[worst]:,}"
        )


def order_problems(costs: Iterable[tuple[str, float, str, float]]) -> Iterator[str]:
    """Costs that should not be above others, but are."""
    for name, cost, other, limit in costs:
        if cost > limit:
            yield f"{name} costs {cost:.6f}, more than {other} ({limit:.6f})"
