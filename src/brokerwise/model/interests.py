"""Lists of topics, one per subscriber."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s, freeze_arrays
from brokerwise.model.lists import check_lists

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
