"""Lists of topics, one per subscriber."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s, freeze_arrays
from brokerwise.model.errors import InputError

BLOCK = 65_536
"""Subscribers are gone through, stored and digested in blocks of so many."""


@dataclass(frozen=True, eq=False, repr=False)
class Interests:
    """For each subscriber its topics, ascending: topics[offsets[v]:offsets[v+1]].

    Also holds a selection: the part of the interests that a plan serves.
    """

    offsets: Int64s
    topics: Int32s

    def __post_init__(self) -> None:
        freeze_arrays(self, "interests", offsets=np.int64, topics=np.int32)
        offsets, topics = self.offsets, self.topics
        if len(offsets) == 0 or offsets[0] != 0 or offsets[-1] != len(topics):
            raise InputError(
                f"interests: offsets must run from 0 to {len(topics):,}, "
                f"the number of pairs"
            )
        if (offsets[1:] < offsets[:-1]).any():
            raise InputError("interests: offsets must not decrease")
        if len(topics) and topics.min() < 0:
            raise InputError(f"interests: found topic {topics.min()}, expected >= 0")
        rising = topics[1:] > topics[:-1]
        starts = offsets[1:-1]
        rising[starts[(starts > 0) & (starts < len(topics))] - 1] = True
        if not rising.all():
            pair = int(np.argmin(rising)) + 1
            subscriber = int(np.searchsorted(offsets, pair, side="right")) - 1
            raise InputError(
                f"interests of subscriber {subscriber}: topics must ascend without "
                f"repeats, found {topics[pair]} after {topics[pair - 1]}"
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
