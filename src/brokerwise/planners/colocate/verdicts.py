"""What was said of sets of one size, kept."""

from collections.abc import Callable

import numpy as np

from brokerwise.kernels.colocate_cache import FREE, NO, YES, Verdicts, claim, refute
from brokerwise.model.arrays import Bools, Int32s

_FIRST = 1 << 10  # slots


class Kept:
    """Verdicts on sets of so many numbers each, by the sorted set."""

    def __init__(self, size: int) -> None:
        self._keys = np.zeros((_FIRST, size), np.int32)
        self._verdicts: Verdicts = np.zeros(_FIRST, np.int8)
        self._known = 0

    def look_up(self, rows: Int32s, judge: Callable[[Int32s], Bools]) -> Bools:
        """The verdict on each row; `judge` is asked for those that are new, once."""
        self._make_room(len(rows))
        slots = np.empty(len(rows), np.int64)
        fresh = np.empty(len(rows), np.int64)
        new = claim(self._keys, self._verdicts, rows, slots, fresh)
        if new:
            first = fresh[:new]
            verdicts = judge(rows[first])
            self._verdicts[slots[first]] = np.where(verdicts, YES, NO)
            self._known += new
        found: Bools = self._verdicts[slots] == YES
        return found

    def refuted(self, rows: Int32s) -> Bools:
        """Whether a part of each row, of which these are one longer, is refused."""
        found = np.zeros(len(rows), np.bool_)
        refute(self._keys, self._verdicts, rows, found)
        return found

    def __len__(self) -> int:
        return self._known

    def _make_room(self, rows: int) -> None:
        """At most half of the slots are taken, even if all rows are new."""
        need = 2 * (self._known + rows)
        if need <= len(self._verdicts):
            return
        used = self._verdicts != FREE
        keys, verdicts = self._keys[used], self._verdicts[used]
        slots = 1 << (need - 1).bit_length()
        self._keys = np.zeros((slots, keys.shape[1]), np.int32)
        self._verdicts = np.zeros(slots, np.int8)
        at = np.empty(len(keys), np.int64)
        claim(self._keys, self._verdicts, keys, at, np.empty(len(keys), np.int64))
        self._verdicts[at] = verdicts
