"""Lists of whole numbers, one per owner, one after the other in an array."""

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import InputError


def check_lists(
    what: str, offsets: Int64s, entries: Int32s, *, owner: str, entry: str
) -> None:
    """Refuse lists that do not ascend: owner i has entries[offsets[i]:offsets[i + 1]].

    `owner` and `entry` are what these are called in an error, such as "subscriber"
    and "topic".
    """
    if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(entries):
        raise InputError(
            f"{what}: offsets must run from 0 to {len(entries):,}, the number of pairs"
        )
    if (offsets[1:] < offsets[:-1]).any():
        raise InputError(f"{what}: offsets must not decrease")
    if len(entries) and entries.min() < 0:
        raise InputError(f"{what}: found {entry} {entries.min()}, expected >= 0")
    rising = entries[1:] > entries[:-1]
    starts = offsets[1:-1]
    rising[starts[(starts > 0) & (starts < len(entries))] - 1] = True
    if not rising.all():
        pair = int(np.argmin(rising)) + 1
        number = int(np.searchsorted(offsets, pair, side="right")) - 1
        raise InputError(
            f"{what} of {owner} {number}: {entry}s must ascend without "
            f"repeats, found {entries[pair]} after {entries[pair - 1]}"
        )
