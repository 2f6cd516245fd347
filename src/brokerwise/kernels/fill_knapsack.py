"""The most valuable pairs for a broker's room: a knapsack of items with counts.

An item is a number of equal pairs, each of some rate and worth its weight times that.
Items come by descending weight, so that taking as many of each as fit, one item after
the other, is best whenever it fills the room. Of all best choices, the one is made that
takes the most of the first item, then of the second, and so on.
"""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.kernels.names import Word
from brokerwise.kernels.subset_sums import Words, has_bit, last_bit
from brokerwise.model.arrays import Int64s

# Sums that a search may look at, those up to the room for each item: as bits where
# all weights are equal (0.5 MB, about 0.2 ms), else as values (8 MB, about 3 ms).
MOST_BITS = 1 << 22
MOST_CELLS = 1 << 20
# A search in so much less comes first, as it fills the room more often than not.
_FIRST = 256


class Items(NamedTuple):
    """By descending weight; `taken` is the answer, `free` what a search may change."""

    topic: Int64s
    rate: Int64s
    weight: Int64s
    pairs: Int64s
    taken: Int64s
    free: Int64s


@kernel
def space_for(size: int) -> Items:
    """Space for `size` items."""
    return Items(
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
    )


@kernel
def fill_room(
    items: Items, size: int, room: int, most_bits: int, most_cells: int
) -> None:
    """Take of the first `size` items what is worth most within `room`.

    Exact if the items that a better choice may change, times the room that these
    have (over the rates' common divisor), are within a limit. Beyond it, what
    comes first is taken as it fits, until the rest is within the limit and can be
    chosen exactly: never worse than taking everything as it fits. O(size) if that
    fills the room, else O(limit * log(pairs of an item)).
    """
    unit = common_rate(items, size)
    room //= unit
    gap, last = take_in_order(items, size, room, unit)
    if gap == 0:
        return
    greedy = np.empty(size, np.int64)
    for i in range(size):
        greedy[i] = items.taken[i]
    weight = items.weight[last]
    # That is 1, but not a constant, for which `search` would be compiled once more.
    among, limit = min(gap, 1), most_bits // _FIRST
    while True:
        left, whole = search(items, size, room, unit, among, weight, limit)
        if left and among == 1 and limit < most_bits and not whole:
            limit = most_bits
        elif left and among < gap and items.weight[0] != items.weight[size - 1]:
            among, limit = gap, most_cells
        else:
            break
    if not is_better(items, greedy):
        for i in range(size):
            items.taken[i] = greedy[i]


@kernel
def search(
    items: Items, size: int, room: int, unit: int, gap: int, weight: int, limit: int
) -> tuple[int, bool]:
    """Choose among what may make up for less than `gap`; with a gap of 1, that is all
    of `weight`. To fill the room with these is best: so returns the room that is left,
    and whether the limit allowed for a search in all of it.
    """
    room = set_free(items, size, room, unit, gap, weight)
    core = core_of(items, size)
    most = limit // (len(core) + 1)
    whole = room < most
    room = keep_first(items, core, room, unit, most)
    if room < most and gap == 1:
        room = add_most(items, core, room, unit)
    elif room < most:
        room = add_best(items, core, room, unit)
    return room, whole


@leaf
def common_rate(items: Items, size: int) -> int:
    """The greatest common divisor of the rates."""
    unit = 0
    for i in range(size):
        other = items.rate[i]
        while other:
            unit, other = other, unit % other
        if unit == 1:
            break
    return unit


@leaf
def take_in_order(items: Items, size: int, room: int, unit: int) -> tuple[int, int]:
    """Take as many of each as fit, one item after the other.

    Returns how much more any choice can be worth, at most, and the first item that
    did not fit whole: the bound is what filling the room with parts of it is worth.
    """
    gap, last = 0, -1
    for i in range(size):
        rate = items.rate[i] // unit
        taken = min(items.pairs[i], room // rate)
        items.taken[i] = taken
        room -= taken * rate
        if last >= 0:
            gap -= taken * rate * items.weight[i]
        elif taken < items.pairs[i]:
            gap, last = room * items.weight[i], i
    return gap, last


@leaf
def set_free(
    items: Items, size: int, room: int, unit: int, gap: int, weight: int
) -> int:
    """Leave out of `taken` what a better choice may do without, and free it; free also
    what such a choice may add. Returns the room that is left.

    A pair more of a weight below that of the first item that did not fit whole, or a
    pair less of one above it, takes the difference times the rate off the bound.
    """
    for i in range(size):
        rate = items.rate[i] // unit
        loss = abs(items.weight[i] - weight) * rate
        free = items.pairs[i] if loss == 0 else min(items.pairs[i], (gap - 1) // loss)
        items.free[i] = free
        items.taken[i] = items.pairs[i] - free if items.weight[i] > weight else 0
        room -= items.taken[i] * rate
    return room


@kernel
def core_of(items: Items, size: int) -> Int64s:
    """The items with anything free: at least the one that did not fit whole."""
    core, count = np.empty(size, np.int64), 0
    for i in range(size):
        if items.free[i] > 0:
            core[count] = i
            count += 1
    return core[:count]


@leaf
def keep_first(items: Items, core: Int64s, room: int, unit: int, most: int) -> int:
    """Take as many as fit of the first items until the room is below `most`, if that
    can be; the room that is left."""
    for i in core:
        if room < most:
            break
        rate = items.rate[i] // unit
        kept = min(items.free[i], room // rate, (room - most) // rate + 1)
        items.taken[i] += kept
        items.free[i] -= kept
        room -= kept * rate
    return room


@kernel
def add_most(items: Items, core: Int64s, room: int, unit: int) -> int:
    """Take the largest sum within the room: layer j holds, as bits, the sums of pairs
    of the items of the core from j on. Returns the room that is left."""
    size, words = len(core), (room >> 6) + 1
    layers = np.zeros((size + 1) * words, np.uint64)
    layers[size * words] = Word(1)
    reach = 0
    for j in range(size - 1, -1, -1):
        rate = items.rate[core[j]] // unit
        count = min(items.free[core[j]], room // rate)
        for w in range(j * words, (j + 1) * words):
            layers[w] = layers[w + words]
        reach = min(room, reach + count * rate)
        part = 1
        while count > 0:
            part = min(part, count)
            shift_in(layers, j * words, part * rate, reach)
            count -= part
            part *= 2
    total = last_bit(layers, 0, reach)
    room -= total
    for j in range(size):
        rate = items.rate[core[j]] // unit
        taken = min(items.free[core[j]], total // rate)
        while not has_bit(layers, (j + 1) * words, total - taken * rate):
            taken -= 1
        items.taken[core[j]] += taken
        total -= taken * rate
    return room


@leaf
def shift_in(layers: Words, start: int, value: int, reach: int) -> None:
    """Add to the sums of a layer those with `value` added, as far as `reach`."""
    whole, part = value >> 6, Word(value & 63)
    for w in range(reach >> 6, whole, -1):
        low = layers[start + w - whole] << part
        high = (layers[start + w - whole - 1] >> Word(1)) >> (Word(63) - part)
        layers[start + w] |= low | high
    layers[start + whole] |= layers[start] << part


@kernel
def add_best(items: Items, core: Int64s, room: int, unit: int) -> int:
    """Take what is worth most within the room: layer j holds, for every room, the
    value of the best choice among items of the core from j on. Returns the room
    that is left."""
    size = len(core)
    layers = np.zeros((size + 1, room + 1), np.int64)
    for j in range(size - 1, -1, -1):
        rate = items.rate[core[j]] // unit
        value = rate * items.weight[core[j]]
        count = min(items.free[core[j]], room // rate)
        for c in range(room + 1):
            layers[j, c] = layers[j + 1, c]
        part = 1
        while count > 0:
            part = min(part, count)
            raise_values(layers[j], part * rate, part * value)
            count -= part
            part *= 2
    for j in range(size):
        rate = items.rate[core[j]] // unit
        value = rate * items.weight[core[j]]
        taken = min(items.free[core[j]], room // rate)
        while layers[j + 1, room - taken * rate] + taken * value < layers[j, room]:
            taken -= 1
        items.taken[core[j]] += taken
        room -= taken * rate
    return room


@leaf
def raise_values(layer: Int64s, load: int, value: int) -> None:
    for room in range(len(layer) - 1, load - 1, -1):
        layer[room] = max(layer[room], layer[room - load] + value)


@leaf
def is_better(items: Items, greedy: Int64s) -> bool:
    """Whether what is taken is worth more."""
    more = 0
    for i in range(len(greedy)):
        more += (items.taken[i] - greedy[i]) * items.rate[i] * items.weight[i]
    return more > 0
