"""A table of sets and what is known of each: open addressing over rows of numbers."""

import numpy as np
import numpy.typing as npt

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Bools, Int32s, Int64s

Verdicts = npt.NDArray[np.int8]

FREE = 0
PENDING = 1
NO = 2
YES = 3

NOTHING = -1  # left out


@leaf
def _hash(rows: Int32s, at: int, left_out: int) -> int:
    """FNV-1a over the numbers of a row but one, with the high bits folded down."""
    mixed = np.uint64(14695981039346656037)
    for column in range(rows.shape[1]):
        if column != left_out:
            mixed ^= np.uint64(rows[at, column])
            mixed *= np.uint64(1099511628211)
            mixed ^= mixed >> np.uint64(29)
    return int(mixed >> np.uint64(1))


@leaf
def _slot(
    keys: Int32s, verdicts: Verdicts, rows: Int32s, at: int, left_out: int
) -> int:
    """Where a row without one of its numbers is, or would be."""
    mask = len(verdicts) - 1
    slot = _hash(rows, at, left_out) & mask
    while verdicts[slot] != FREE:
        same = True
        place = 0
        for column in range(rows.shape[1]):
            if column != left_out:
                if keys[slot, place] != rows[at, column]:
                    same = False
                    break
                place += 1
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@kernel
def claim(
    keys: Int32s, verdicts: Verdicts, rows: Int32s, slots: Int64s, fresh: Int64s
) -> int:
    """Find the slot of each row, and take a free one for those that are new.

    Returns how many are new; `fresh` begins with their numbers, each once. `keys` has
    a power of two of rows, some of them free beyond those that are new.
    """
    new = 0
    for at in range(len(rows)):
        slot = _slot(keys, verdicts, rows, at, NOTHING)
        if verdicts[slot] == FREE:
            verdicts[slot] = PENDING
            keys[slot] = rows[at]
            fresh[new] = at
            new += 1
        slots[at] = slot
    return new


@kernel
def refute(keys: Int32s, verdicts: Verdicts, rows: Int32s, refuted: Bools) -> None:
    """Note the rows of which some part, with one number less, is known to be refused.

    The table is of rows that are one shorter than these.
    """
    for at in range(len(rows)):
        for column in range(rows.shape[1]):
            if verdicts[_slot(keys, verdicts, rows, at, column)] == NO:
                refuted[at] = True
                break
