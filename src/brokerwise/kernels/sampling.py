"""Weighted draws without repeats, the same for the same seed on every machine.

Items 0..n-1 are cut into bins; all items of a bin are equally likely. Drawing one
takes integer arithmetic only (an alias table over the bins, then a place within
the bin), so no rounding of a logarithm or a power can change what is drawn.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from brokerwise.kernels.compile import kernel
from brokerwise.model.arrays import Float64s, Int32s, Int64s

UInt64s = npt.NDArray[np.uint64]

_REDRAWS = 8  # per item wanted, before the exact race decides the rest
_ONE = 1 << 32

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_BY_27, _BY_30, _BY_31 = np.uint64(27), np.uint64(30), np.uint64(31)
_BY_11, _BY_32 = np.uint64(11), np.uint64(32)


@dataclass(frozen=True, eq=False)
class Bins:
    """Items `starts[b]` to `starts[b+1]` share a bin and each have `weights[b]`.

    `keep` and `other` are the alias table: a draw that lands on bin b stays there
    if a coin of 32 bits is under `keep[b]`, else goes to bin `other[b]`.
    """

    starts: Int64s
    weights: Float64s
    keep: UInt64s
    other: Int64s

    @classmethod
    def of(cls, starts: Int64s, weights: Float64s) -> "Bins":
        """Bins whose items have these weights, all above zero."""
        keep, other = alias_table(weights * np.diff(starts))
        return cls(starts, weights, keep, other)

    @classmethod
    def uniform(cls, items: int) -> "Bins":
        """Every item equally likely."""
        return cls.of(np.array([0, items]), np.ones(1))

    def draw(self, counts: Int64s, seed: int) -> Int32s:
        """For each count that many different items, one list after the other.

        Each list is a sample without replacement, in the order drawn: the next item
        is any that is not there yet, with probability by weight. A count must not
        exceed the number of items. About 30 ns a draw while counts are small
        against the items; O(items log items) for a list that takes most of them.
        """
        state = np.array([seed], np.uint64)
        return draw_lists(
            counts, self.starts, self.weights, self.keep, self.other, state
        )


def alias_table(weights: Float64s) -> tuple[UInt64s, Int64s]:
    """Walker's table: bin b keeps a share of its column, `other[b]` has the rest."""
    scaled = weights * (len(weights) / weights.sum())
    other = np.arange(len(weights))
    small = [b for b in range(len(weights)) if scaled[b] < 1]
    large = [b for b in range(len(weights)) if scaled[b] >= 1]
    while small and large:
        low, high = small.pop(), large[-1]
        other[low] = high
        scaled[high] -= 1 - scaled[low]
        if scaled[high] < 1:
            small.append(large.pop())
    scaled[[*small, *large]] = 1  # what rounding left over
    return np.rint(scaled * _ONE).astype(np.uint64), other


@kernel
def draw_lists(
    counts: Int64s,
    starts: Int64s,
    weights: Float64s,
    keep: UInt64s,
    other: Int64s,
    state: UInt64s,
) -> Int32s:
    """See `Bins.draw`; `state` is the generator's, and moves on."""
    drawn = np.empty(counts.sum(), np.int32)
    longest = counts.max() if len(counts) else 0
    seen = np.empty(_table_size(longest), np.int32)
    first = 0
    for count in counts:
        wanted = drawn[first : first + count]
        size = _table_size(count)
        found = _draw_distinct(wanted, seen[:size], starts, keep, other, state)
        if found < count:
            _race(wanted, found, seen[:size], starts, weights, state)
        first += count
    return drawn


@kernel
def _draw_distinct(
    wanted: Int32s,
    seen: Int32s,
    starts: Int64s,
    keep: UInt64s,
    other: Int64s,
    state: UInt64s,
) -> int:
    """Fill `wanted`, redrawing repeats up to a bound; returns how many it holds."""
    seen[:] = -1
    found = 0
    for _ in range(_REDRAWS * len(wanted)):
        item = _draw_one(starts, keep, other, state)
        slot = _slot(seen, item)
        if seen[slot] < 0:
            seen[slot] = item
            wanted[found] = item
            found += 1
            if found == len(wanted):
                break
    return found


@kernel
def _race(
    wanted: Int32s,
    found: int,
    seen: Int32s,
    starts: Int64s,
    weights: Float64s,
    state: UInt64s,
) -> None:
    """Fill the rest of `wanted` from the items not seen yet.

    Every such item gets an exponential arrival time with its weight as the rate;
    the order of arrival has the law of drawing one by one without replacement.
    """
    rest = starts[-1] - found
    items = np.empty(rest, np.int32)
    times = np.empty(rest, np.float64)
    n = 0
    for b in range(len(weights)):
        for item in range(starts[b], starts[b + 1]):
            if seen[_slot(seen, item)] < 0:
                items[n] = item
                times[n] = -math.log(_above_zero(state)) / weights[b]
                n += 1
    order = np.argsort(times)
    for i in range(len(wanted) - found):
        wanted[found + i] = items[order[i]]


@kernel
def _draw_one(starts: Int64s, keep: UInt64s, other: Int64s, state: UInt64s) -> np.int64:
    word = _next_word(state)
    b = np.int64(((word >> _BY_32) * np.uint64(len(keep))) >> _BY_32)
    if (word & _LOW_HALF) >= keep[b]:
        b = other[b]
    width = starts[b + 1] - starts[b]
    if width == 1:
        return np.int64(starts[b])
    word = _next_word(state)
    within = ((word >> _BY_32) * np.uint64(width)) >> _BY_32
    return np.int64(starts[b] + np.int64(within))


@kernel
def _slot(seen: Int32s, item: int | np.int64) -> np.int64:
    """Where an item is in a table with free slots, or where it would go."""
    mask = len(seen) - 1
    spread = np.uint64(item) * _STEP
    slot = np.int64(spread >> _BY_32) & mask
    while seen[slot] >= 0 and seen[slot] != item:
        slot = (slot + 1) & mask
    return slot


@kernel
def _table_size(count: int) -> int:
    """A power of two that leaves at least half of the table free."""
    size = 2
    while size < 2 * count:
        size *= 2
    return size


@kernel
def _next_word(state: UInt64s) -> np.uint64:
    """SplitMix64 (Steele, Lea, Flood 2014): 64 random bits."""
    state[0] += _STEP
    word = state[0]
    word = (word ^ (word >> _BY_30)) * _MIX_1
    word = (word ^ (word >> _BY_27)) * _MIX_2
    return np.uint64(word ^ (word >> _BY_31))


@kernel
def _above_zero(state: UInt64s) -> float:
    """Uniform in (0, 1]."""
    return (np.float64(_next_word(state) >> _BY_11) + 1.0) * 2.0**-53
