"""Where each selected pair goes, from the runs of a packing."""

from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.compile import kernel
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.placement import Placement


@dataclass(frozen=True, eq=False)
class Homes:
    """Runs, arranged to be looked up by topic.

    `home` is the broker of a topic that is whole, and -1 - i for the i-th of the
    topics that are `cut`: its runs are `starts[i]` to before `starts[i + 1]`.
    """

    home: Int32s
    cut: Int32s
    starts: Int64s
    broker: Int32s
    pairs: Int64s

    @classmethod
    def of(cls, placement: Placement, topics: int) -> "Homes":
        runs = np.bincount(placement.topic, minlength=topics)
        cut = np.flatnonzero(runs > 1).astype(np.int32)
        home = np.full(topics, -1 - len(cut), np.int32)
        home[placement.topic] = placement.broker
        home[cut] = -1 - np.arange(len(cut), dtype=np.int32)
        split = runs[placement.topic] > 1
        starts = np.concatenate([[0], np.cumsum(runs[cut])]).astype(np.int64)
        return cls(home, cut, starts, placement.broker[split], placement.pairs[split])


@dataclass(eq=False)
class Cursor:
    """How far the runs of cut topics are filled: the run, and its pairs so far."""

    run: Int64s
    filled: Int64s

    @classmethod
    def after(cls, homes: Homes, pairs: Int64s) -> "Cursor":
        """The cursor after `pairs` of each cut topic."""
        ends = np.concatenate([[0], np.cumsum(homes.pairs)])
        at = ends[homes.starts[:-1]] + pairs
        run = np.searchsorted(ends, at, side="right") - 1
        return cls(run.astype(np.int64), (at - ends[run]).astype(np.int64))


def place_block(homes: Homes, cursor: Cursor, topics: Int32s) -> Int32s:
    """The broker of each pair of a block, in order of subscribers; the cursor moves.

    O(pairs). Blocks must come in order of their subscribers.
    """
    brokers = np.empty(len(topics), np.int32)
    _place(
        topics,
        homes.home,
        homes.broker,
        homes.pairs,
        cursor.run,
        cursor.filled,
        brokers,
    )
    return brokers


@kernel
def _place(
    topics: Int32s,
    home: Int32s,
    broker: Int32s,
    pairs: Int64s,
    run: Int64s,
    filled: Int64s,
    brokers: Int32s,
) -> None:
    for i in range(len(topics)):
        where = home[topics[i]]
        if where < 0:
            cut = -1 - where
            if filled[cut] == pairs[run[cut]]:
                run[cut] += 1
                filled[cut] = 0
            filled[cut] += 1
            where = broker[run[cut]]
        brokers[i] = where
