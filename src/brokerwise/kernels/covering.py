"""The cheapest of some numbers, each with a price, whose sum reaches a target.

The numbers are candidates on `Scales`, descending, each above zero and below the
target, which they reach together; prices are above zero. The answer is marked in
`picked`, at each candidate's place. Few candidates are tried in all subsets or in a
program over sums, both exact. Of many, a good choice is made among those around the
point where the cheapest per unit reach the target, or the cost is bounded from below
by what a fraction of the last would cost.
"""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import leaf
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s

Numbers = Float64s | Int64s

# Cells of a program over sums: about 2 us.
MOST_CELLS = 1 << 12
# Numbers of which all subsets are tried: about 1 us.
MOST_TRIED = 9
# Cells that take as long as a subset.
_SUBSET_CELLS = 3
# Candidates that are worth trimming before they are sorted.
_MANY = 24
# Numbers tried that are from before the point where the target is reached.
_BEFORE = 4


class Scales(NamedTuple):
    """Scratch: candidates with their places, and tables."""

    places: Int32s
    values: Int64s
    costs: Float64s
    cells: Float64s
    subset_values: Int64s
    subset_costs: Float64s

    @classmethod
    def for_lists(cls, offsets: Int64s) -> "Scales":
        longest = int(np.diff(offsets).max(initial=0))
        return cls(
            np.empty(longest, np.int32),
            np.empty(longest, np.int64),
            np.empty(longest),
            np.empty(MOST_CELLS),
            np.empty(1 << MOST_TRIED, np.int64),
            np.empty(1 << MOST_TRIED),
        )


@leaf
def cheapest_together(
    count: int, target: int, picked: Bools, scales: Scales
) -> tuple[float, bool]:
    """Pick candidates at little cost; returns it and whether it is the least."""
    if few_enough(count, target):
        return least_cost(count, target, picked, scales), True
    return pick_by_ratio(count, target, picked, scales), False


@leaf
def few_enough(count: int, target: int) -> bool:
    """Whether the least cost is found quickly."""
    return count <= MOST_TRIED or (count + 1) * (target + 1) <= MOST_CELLS


@leaf
def least_cost(count: int, target: int, picked: Bools, scales: Scales) -> float:
    """Pick the cheapest candidates, which are few enough."""
    cells = (count + 1) * (target + 1)
    if count > MOST_TRIED or (cells <= MOST_CELLS and cells < _SUBSET_CELLS << count):
        return fill_cells(count, target, picked, scales)
    return try_subsets(0, count, target, picked, scales)


@leaf
def try_subsets(
    begin: int, end: int, target: int, picked: Bools, scales: Scales
) -> float:
    """Of all subsets of the candidates [begin, end) the cheapest."""
    sums, costs = scales.subset_values, scales.subset_costs
    sums[0], costs[0] = 0, 0.0
    size = 1
    for i in range(begin, end):
        append_sums(sums[:size], sums[size : 2 * size], scales.values[i])
        append_sums(costs[:size], costs[size : 2 * size], scales.costs[i])
        size *= 2
    best, subset = np.inf, 0
    for k in range(size):
        if costs[k] < best and sums[k] >= target:
            best, subset = costs[k], k
    for i in range(begin, end):
        picked[scales.places[i]] = bool((subset >> (i - begin)) & 1)
    return best


@leaf
def append_sums(known: Numbers, new: Numbers, value: float) -> None:
    for k in range(len(new)):
        new[k] = known[k] + value


@leaf
def fill_cells(count: int, target: int, picked: Bools, scales: Scales) -> float:
    """A row per candidate: the least cost of reaching 0, 1, ..., the target."""
    cells, width = scales.cells, target + 1
    cells[0] = 0.0
    cells[1:width] = np.inf
    for i in range(count):
        value, cost = scales.values[i], scales.costs[i]
        row, after, end = i * width, (i + 1) * width, (i + 2) * width
        cells[after] = 0.0
        cap_cells(cells[row + 1 : row + value], cells[after + 1 : after + value], cost)
        add_cells(
            cells[row + value : after],
            cells[row : after - value],
            cells[after + value : end],
            cost,
        )
    best: float = cells[count * width + target]
    left = target
    for i in range(count - 1, -1, -1):
        used = cells[(i + 1) * width + left] < cells[i * width + left]
        picked[scales.places[i]] = used
        if used:
            left = max(0, left - scales.values[i])
    return best


# Loops over slices from zero up are what the compiler turns into vector code.


@leaf
def cap_cells(known: Float64s, new: Float64s, cost: float) -> None:
    """Sums that the candidate alone reaches."""
    for s in range(len(new)):
        new[s] = known[s] if known[s] < cost else cost


@leaf
def add_cells(known: Float64s, smaller: Float64s, new: Float64s, cost: float) -> None:
    """Sums that it reaches from a smaller one."""
    for s in range(len(new)):
        other = smaller[s] + cost
        new[s] = known[s] if known[s] < other else other


@leaf
def pick_by_ratio(count: int, target: int, picked: Bools, scales: Scales) -> float:
    """Try those that cost least per unit: all, if that leaves few enough, else take
    them until the target is reached, try all subsets of those around the last one, and
    leave out what is not needed in the end."""
    count = trim_by_ratio(count, 2 * target, picked, scales)
    if few_enough(count, target):
        return least_cost(count, target, picked, scales)
    sort_by_ratio(count, scales)
    values, costs, places = scales.values, scales.costs, scales.places
    last, reached = 0, values[0]
    while reached < target:
        last += 1
        reached += values[last]
    begin = max(0, last - _BEFORE)
    end = min(count, begin + MOST_TRIED)
    left, cost = target, 0.0
    for i in range(begin):
        picked[places[i]] = True
        left -= values[i]
        cost += costs[i]
    cost += try_subsets(begin, end, left, picked, scales)
    for i in range(begin, end):
        if picked[places[i]]:
            left -= values[i]
    for i in range(begin - 1, -1, -1):
        if values[i] <= -left:
            picked[places[i]] = False
            left += values[i]
            cost -= costs[i]
    return cost


@leaf
def fractional_cost(count: int, target: int, picked: Bools, scales: Scales) -> float:
    """The cost if the last of the cheapest per unit could be had in part: no choice
    costs less. Picks all that have a part in it."""
    count = trim_by_ratio(count, target, picked, scales)
    sort_by_ratio(count, scales)
    cost = 0.0
    for i in range(count):
        if target <= 0:
            break
        picked[scales.places[i]] = True
        cost += scales.costs[i] * min(1.0, target / scales.values[i])
        target -= scales.values[i]
    return cost


@leaf
def sort_by_ratio(count: int, scales: Scales) -> None:
    """Candidates by cost per unit, of equal ones by place.

    Shell's sort: in place, and quick for the dozens that there usually are.
    """
    values, costs, places = scales.values, scales.costs, scales.places
    gap = 1
    while 3 * gap + 1 < count:
        gap = 3 * gap + 1
    while gap:
        for i in range(gap, count):
            value, cost, place = values[i], costs[i], places[i]
            k = i - gap
            while k >= 0 and comes_after(k, value, cost, place, scales):
                values[k + gap], costs[k + gap] = values[k], costs[k]
                places[k + gap] = places[k]
                k -= gap
            values[k + gap], costs[k + gap], places[k + gap] = value, cost, place
        gap //= 3


@leaf
def comes_after(i: int, value: int, cost: float, place: int, scales: Scales) -> bool:
    """Whether candidate i costs more per unit, or as much and is at a later place."""
    one, other = scales.costs[i] * value, cost * scales.values[i]
    return bool(one > other or (one == other and scales.places[i] > place))


@leaf
def trim_by_ratio(count: int, enough: int, picked: Bools, scales: Scales) -> int:
    """Of many candidates keep those that cost least per unit and are enough together.

    Returns how many: they are the first then, in no order, and none is picked.
    O(candidates) as a rule: those behind a middle one are dropped while the others
    are enough without them.
    """
    values, costs, places = scales.values, scales.costs, scales.places
    for i in range(count):
        picked[places[i]] = False
    while count > _MANY:
        pivot = middle_of(0, count >> 1, count - 1, scales)
        value, cost, place = values[pivot], costs[pivot], places[pivot]
        kept, total = 0, 0
        for k in range(count):
            if not comes_after(k, value, cost, place, scales):
                total += values[k]
                values[k], values[kept] = values[kept], values[k]
                costs[k], costs[kept] = costs[kept], costs[k]
                places[k], places[kept] = places[kept], places[k]
                kept += 1
        if total < enough:
            break
        count = kept
    return count


@leaf
def middle_of(one: int, two: int, three: int, scales: Scales) -> int:
    """The candidate of three that is neither first nor last by cost per unit."""
    values, costs, places = scales.values, scales.costs, scales.places
    if comes_after(one, values[two], costs[two], places[two], scales):
        one, two = two, one
    if not comes_after(two, values[three], costs[three], places[three], scales):
        return two
    if comes_after(one, values[three], costs[three], places[three], scales):
        return one
    return three
