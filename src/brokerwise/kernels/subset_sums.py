"""The least sum of some of a few numbers that reaches a target, and which they are.

Numbers are `values[:size]`, above zero and descending; the answer is marked in
`picked`. Three ways, by what they cost: sets of sums as bits, built number by number
(either of what is kept, below the target, or of what is left out, within the slack),
and sums of all subsets of either half.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from brokerwise.kernels.compile import leaf
from brokerwise.kernels.names import Word
from brokerwise.model.arrays import Bools, Int64s

Words = npt.NDArray[np.uint64]

# Words of bits that one subscriber may take: about 30 us and 256 kB.
MOST_WORDS = 1 << 15
# Numbers of which all subsets may be tried: two halves of 1,024 sums, about 8 us.
MOST_TRIED = 20
_HALF = 1 << (MOST_TRIED // 2)
# What a sum in either half costs, in words.
_TRIAL = 16
# Sums at least this wide are tried in a larger unit first, if there is one.
_WIDE = 1 << 12
# A sum that none is: twice it still fits.
NOTHING = 1 << 61


class Board(NamedTuple):
    """Scratch: layers of bits; sorted sums of halves with the subsets they are of."""

    layers: Words
    sums: Int64s  # four rows
    subsets: Int64s

    @classmethod
    def new(cls) -> "Board":
        sums, subsets = np.empty((2, 4 * _HALF), np.int64)
        return cls(np.empty(MOST_WORDS, np.uint64), sums, subsets)


@leaf
def least_reaching(
    values: Int64s, size: int, target: int, picked: Bools, board: Board
) -> tuple[int, int]:
    """Pick numbers with the least sum that reaches `target`, each less than it.

    All together must reach it. Returns the sum found and a proven least: the same
    unless the work is beyond the limits. `values` are left as they are.
    """
    unit = 1
    if target >= _WIDE:
        unit = common_unit(values, size)
    if unit > 1:
        target = -(-target // unit)
        for i in range(size):
            values[i] //= unit
    total = 0
    for i in range(size):
        total += values[i]
    found, least = _least_in_units(values, size, target, total, picked, board)
    if unit > 1:
        for i in range(size):
            values[i] *= unit
    return found * unit, least * unit


@leaf
def _least_in_units(
    values: Int64s, size: int, target: int, total: int, picked: Bools, board: Board
) -> tuple[int, int]:
    slack = total - target
    large = 0
    if slack < target:
        while large < size and values[large] > slack:
            large += 1
    words = (min(target, slack + 1) + 63) >> 6
    work = words * (size - large + 1)
    trials = _TRIAL << ((size - large + 1) >> 1)
    if size - large <= MOST_TRIED and trials < work:
        kept = 0
        for i in range(large):
            picked[i] = True
            kept += values[i]
        found = kept + best_of_halves(values, large, size, target - kept, picked, board)
        return found, found
    if slack < target and work <= MOST_WORDS:
        found = total - most_within(values, large, size, slack, picked, board.layers)
        return found, found
    if ((target + 63) >> 6) * MOST_TRIED <= MOST_WORDS:
        return least_above(values, size, target, picked, board.layers)
    found = least_by_core(values, size, target, picked, board)
    return found, target


@leaf
def common_unit(values: Int64s, size: int) -> int:
    """The greatest common divisor."""
    unit = 0
    for i in range(size):
        other = values[i]
        while other:
            unit, other = other, unit % other
        if unit == 1:
            break
    return unit


@leaf
def least_above(
    values: Int64s, size: int, target: int, picked: Bools, layers: Words
) -> tuple[int, int]:
    """By sums below the target. Returns the least sum found and a proven least.

    Layer i holds as bits the sums of subsets of the first i numbers. The number that
    takes a subset to the target or beyond is tried on each layer. Numbers for which
    there is no room are left out, and then the target is all that is proven.
    """
    words = (target + 63) >> 6
    within = min(size, len(layers) // words - 1)
    best, last, reach = NOTHING, -1, 0
    layers[0] = Word(1)
    for i in range(within):
        if reach + values[i] >= target:
            below = next_bit(layers, i * words, target - values[i], reach)
            if below < target and below + values[i] < best:
                best, last = below + values[i], i
                if best == target:
                    break
        reach = add_layer(layers, i * words, words, values[i], reach, target - 1)
    for i in range(size):
        picked[i] = i == last
    if last >= 0:
        trace(values, 0, last, best - values[last], words, layers, picked, True)
    return best, best if within == size else target


@leaf
def most_within(
    values: Int64s, begin: int, end: int, limit: int, picked: Bools, layers: Words
) -> int:
    """By what is left out: leave out numbers of [begin, end), none above `limit`,
    with the largest sum within it, and pick all others. Returns that sum."""
    words = (limit + 64) >> 6
    reach = 0
    layers[0] = Word(1)
    last = begin
    while last < end and not (
        reach == limit and has_bit(layers, (last - begin) * words, limit)
    ):
        before = (last - begin) * words
        reach = add_layer(layers, before, words, values[last], reach, limit)
        last += 1
    most = last_bit(layers, (last - begin) * words, reach)
    for i in range(end):
        picked[i] = True
    trace(values, begin, last, most, words, layers, picked, False)
    return most


@leaf
def trace(
    values: Int64s,
    begin: int,
    end: int,
    total: int,
    words: int,
    layers: Words,
    picked: Bools,
    mark: bool,
) -> None:
    """Mark the numbers of [begin, end) that make up a sum of the layer of all of them.

    A sum that a layer lacks and the next one has is made with the number between.
    """
    for i in range(end - 1, begin - 1, -1):
        if not has_bit(layers, (i - begin) * words, total):
            picked[i] = mark
            total -= values[i]


@leaf
def add_layer(
    layers: Words, before: int, words: int, value: int, reach: int, limit: int
) -> int:
    """Write the layer after `before`: its sums, and those with `value` added.

    `reach` is the largest sum before; returns it for the new layer, at most `limit`.
    Words beyond the largest sum are not kept, but for zeros as far as the next layer.
    """
    after = before + words
    raised = min(reach + value, limit)
    known, size = (reach >> 6) + 1, (raised >> 6) + 1
    for w in range(known, size):
        layers[before + w] = Word(0)
    whole, part = value >> 6, Word(value & 63)
    for w in range(min(whole, size)):
        layers[after + w] = layers[before + w]
    if whole < size:
        layers[after + whole] = layers[before + whole] | (layers[before] << part)
    for w in range(whole + 1, size):
        low = layers[before + w - whole] << part
        high = (layers[before + w - whole - 1] >> Word(1)) >> (Word(63) - part)
        layers[after + w] = layers[before + w] | low | high
    return raised


@leaf
def has_bit(layers: Words, start: int, bit: int) -> bool:
    return bool((layers[start + (bit >> 6)] >> Word(bit & 63)) & Word(1))


@leaf
def next_bit(layers: Words, start: int, bit: int, reach: int) -> int:
    """The first sum from `bit` on; one past any limit if there is none by `reach`."""
    w = bit >> 6
    word = layers[start + w] & (~Word(0) << Word(bit & 63))
    while word == Word(0):
        w += 1
        if w > reach >> 6:
            return NOTHING
        word = layers[start + w]
    bit = w << 6
    while not word & Word(0xFF):
        word >>= Word(8)
        bit += 8
    while not word & Word(1):
        word >>= Word(1)
        bit += 1
    return bit


@leaf
def last_bit(layers: Words, start: int, bit: int) -> int:
    """The last sum up to `bit`; there is one, as zero always is."""
    while not has_bit(layers, start, bit):
        if bit & 63 and not layers[start + (bit >> 6)] << Word(63 - (bit & 63)):
            bit -= bit & 63
        else:
            bit -= 1
    return bit


@leaf
def best_of_halves(
    values: Int64s, begin: int, end: int, target: int, picked: Bools, board: Board
) -> int:
    """By sums of all subsets of either half: pick numbers of [begin, end) with the
    least sum that reaches `target`, which all together do. Returns that sum."""
    sums, subsets = board.sums, board.subsets
    middle = (begin + end) >> 1
    one = half_sums(values, begin, middle, sums, subsets, 0)
    other = half_sums(values, middle, end, sums, subsets, 2 * _HALF)
    best, chosen_one, chosen_other = NOTHING, one, other
    k = other + (1 << (end - middle)) - 1
    for i in range(one, one + (1 << (middle - begin))):
        while k >= other and sums[i] + sums[k] >= target:
            if sums[i] + sums[k] < best:
                best, chosen_one, chosen_other = sums[i] + sums[k], i, k
            k -= 1
    for i in range(begin, middle):
        picked[i] = bool((subsets[chosen_one] >> (i - begin)) & 1)
    for i in range(middle, end):
        picked[i] = bool((subsets[chosen_other] >> (i - middle)) & 1)
    return best


@leaf
def half_sums(
    values: Int64s, begin: int, end: int, sums: Int64s, subsets: Int64s, row: int
) -> int:
    """Sums of all subsets of [begin, end), ascending; returns where they start, which
    is `row` or the row after."""
    spare = row + _HALF
    sums[row], subsets[row] = 0, 0
    for i in range(begin, end):
        value, bit, size = values[i], 1 << (i - begin), 1 << (i - begin)
        plain = added = row
        for at in range(spare, spare + 2 * size):
            if plain < row + size and sums[plain] <= sums[added] + value:
                sums[at], subsets[at] = sums[plain], subsets[plain]
                plain += 1
            else:
                sums[at], subsets[at] = sums[added] + value, subsets[added] | bit
                added += 1
        row, spare = spare, row
    return row


@leaf
def least_by_core(
    values: Int64s, size: int, target: int, picked: Bools, board: Board
) -> int:
    """Take numbers, largest first, until half of the next few reach the target; then
    try all subsets of these. Of all the sums they have, most are near their middle."""
    core, kept = 0, 0
    within = 0
    for i in range(size):
        picked[i] = False
        if i < MOST_TRIED:
            within += values[i]
    while core + MOST_TRIED < size and 2 * (target - kept) > within:
        picked[core] = True
        kept += values[core]
        within += values[core + MOST_TRIED] - values[core]
        core += 1
    end = min(size, core + MOST_TRIED)
    return kept + best_of_halves(values, core, end, target - kept, picked, board)
