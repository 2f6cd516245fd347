"""Lists of topics, one per subscriber, one after the other in an array."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s, freeze_arrays
from brokerwise.model.errors import InputError

BLOCK = 65_536
"""Subscribers in a block: they are gone through, stored and digested in blocks."""


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


@dataclass(frozen=True, eq=False, repr=False)
class Interests:
    """For each subscriber its topics, ascending: topics[offsets[v]:offsets[v+1]].

    Also holds a selection: the part of the interests that a plan serves.
    """

    offsets: Int64s
    topics: Int32s

    def __post_init__(self) -> None:
        freeze_arrays(self, "interests", offsets=np.int64, topics=np.int32)
        check_lists(
            "interests", self.offsets, self.topics, owner="subscriber", entry="topic"
        )

    @property
    def subscribers(self) -> int:
        return len(self.offsets) - 1

    @property
    def pairs(self) -> int:
        return len(self.topics)

    def of(self, subscriber: int) -> Int32s:
        """One subscriber's topics."""
        if not 0 <= subscriber < self.subscribers:
            raise IndexError(subscriber)
        return self.topics[self.offsets[subscriber] : self.offsets[subscriber + 1]]

    def owners(self) -> Int64s:
        """The subscriber of each pair."""
        return np.repeat(np.arange(self.subscribers), np.diff(self.offsets))

    def __repr__(self) -> str:
        return f"Interests({self.subscribers:,} subscribers, {self.pairs:,} pairs)"
