"""What of a former plan can stay: in what is served, and where.

Lists are those of a block of subscribers, as in `selection`. `was` is aligned with
them: the broker that served the pair before, -1 if none did.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import kernel
from brokerwise.kernels.selection import Rule, Topics, select_block
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s

# What a subscriber got before stays while it is dearer than a new choice by at most
# this share: rates vary a little all the time, and the cheapest choice leaps.
TOLERANCE = 0.02


@dataclass(frozen=True, eq=False)
class KeptPairs:
    """Of each wanted pair of a block: whether it is selected with regard to what was
    served before (`held`), and without (`fresh`)."""

    held: Bools
    fresh: Bools


class Tally(NamedTuple):
    """What a selection comes to, next to the runs of a former plan.

    A pair belongs to the run where it was before; one that is new, to the run of
    the pair of its topic before it. Tallies of subscribers that follow add up.

    Attributes
    ----------
    counts
        Selected pairs of each topic.
    size, kept
        Selected pairs that belong to each former run, and those it had before.
    leading
        Selected pairs of each topic ahead of all that were served before.
    last
        The run of each topic that the latest pair belongs to; -1 if none does.
    """

    counts: Int64s
    size: Int64s
    kept: Int64s
    leading: Int64s
    last: Int64s

    @classmethod
    def empty(cls, topics: int, runs: int) -> "Tally":
        return cls(
            np.zeros(topics, np.int64),
            np.zeros(runs, np.int64),
            np.zeros(runs, np.int64),
            np.zeros(topics, np.int64),
            np.full(topics, -1, np.int64),
        )

    def add(self, after: "Tally") -> None:
        """Add the tally of the subscribers that follow."""
        np.add(self.counts, after.counts, out=self.counts)
        np.add(self.size, after.size, out=self.size)
        np.add(self.kept, after.kept, out=self.kept)
        begun = self.last >= 0
        np.add.at(self.size, self.last[begun], after.leading[begun])
        self.leading[~begun] += after.leading[~begun]
        further = after.last >= 0
        self.last[further] = after.last[further]

    def settle(self, starts: Int64s) -> None:
        """Leading pairs join the first run that has kept some, else the first one.

        Afterwards the sizes of a topic's runs add up to its count. `starts` is the
        first run of each topic, and behind the last one the number of runs.
        """
        open_topics = np.flatnonzero((self.leading > 0) & (np.diff(starts) > 0))
        for t in open_topics.tolist():
            runs = self.kept[starts[t] : starts[t + 1]]
            self.size[starts[t] + int(np.argmax(runs > 0))] += self.leading[t]
        self.leading[:] = 0

    def add_block(
        self, starts: Int64s, broker: Int32s, lists: Int32s, was: Int32s
    ) -> bool:
        """Add the selected pairs of a block.

        False if a pair was on a broker where its topic has no run.
        """
        return _add_pairs(starts, broker, lists, was, self)


class FormerBlock(NamedTuple):
    """What a block of a former plan served: subscriber i got, in former numbers,
    `topics[offsets[i]:offsets[i + 1]]` from these `brokers`."""

    offsets: Int64s
    topics: Int32s
    brokers: Int32s


def mark_block(
    offsets: Int64s,
    lists: Int32s,
    rows: Int64s,
    former: FormerBlock,
    renumbered: Int32s,
    topics: int,
    was: Int32s,
) -> None:
    """Fill in `was` for subscribers that have a row in a block of the former plan.

    `rows` has -1 for those that have none. `renumbered` is what each former topic is
    called now, -1 if it is gone.
    """
    mark = np.full(topics, -1, np.int32)
    _mark(offsets, lists, rows, former, renumbered, mark, was)


def keep_block(
    rule: Rule,
    topics: Topics,
    first: int,
    offsets: Int64s,
    lists: Int32s,
    needs: Int64s,
    was: Int32s,
) -> KeptPairs:
    """Choose for a block of subscribers, close to what they got before.

    What a subscriber got is completed by the rule to what it needs. If that is
    dearer than a new choice by the same rule, beyond the tolerance, what is not
    needed goes, largest first; if it still is, the new choice is taken. O(pairs)
    beside two selections.
    """
    nothing = np.zeros(len(topics.rates), np.int64)
    fresh = np.zeros(len(lists), np.bool_)
    chosen = select_block(rule, topics, first, offsets, lists, needs, nothing)
    _flag(offsets, lists, *chosen, fresh)
    held = np.zeros(len(lists), np.bool_)
    rest = _hold(
        offsets, lists, needs, was, topics.rates, topics.low, topics.high, held
    )
    added = select_block(rule, topics, first, *rest, nothing)
    _flag(offsets, lists, *added, held)
    prices = rule.prices
    if prices is None:
        prices = topics.rates.astype(np.float64)
    _compare(offsets, lists, needs, topics.rates, prices, TOLERANCE, fresh, held)
    return KeptPairs(held, fresh)


def narrowed(
    offsets: Int64s, lists: Int32s, was: Int32s, flags: Bools
) -> tuple[Int64s, Int32s, Int32s]:
    """Offsets from 0, topics and former brokers of the pairs that are flagged."""
    ends = np.concatenate([[0], np.cumsum(flags)]).astype(np.int64)
    return ends[offsets] - ends[offsets[0]], lists[flags], was[flags]


@kernel
def _mark(
    offsets: Int64s,
    lists: Int32s,
    rows: Int64s,
    former: FormerBlock,
    renumbered: Int32s,
    mark: Int32s,
    was: Int32s,
) -> None:
    former_offsets, former_topics, former_brokers = former
    for i in range(len(rows)):
        row = rows[i]
        if row < 0:
            continue
        start, end = former_offsets[row], former_offsets[row + 1]
        for j in range(start, end):
            topic = renumbered[former_topics[j]]
            if topic >= 0:
                mark[topic] = former_brokers[j]
        for j in range(offsets[i], offsets[i + 1]):
            was[j] = mark[lists[j]]
        for j in range(start, end):
            topic = renumbered[former_topics[j]]
            if topic >= 0:
                mark[topic] = -1


@kernel
def _flag(
    offsets: Int64s, lists: Int32s, ends: Int64s, chosen: Int32s, flags: Bools
) -> None:
    """Flag the pairs that are chosen; both lists ascend."""
    for i in range(len(offsets) - 1):
        at = offsets[i]
        for j in range(ends[i], ends[i + 1]):
            while lists[at] != chosen[j]:
                at += 1
            flags[at] = True


@kernel
def _hold(
    offsets: Int64s,
    lists: Int32s,
    needs: Int64s,
    was: Int32s,
    rates: Int64s,
    low: int,
    high: int,
    held: Bools,
) -> tuple[Int64s, Int32s, Int64s]:
    """Hold what was served and can be carried. Returns what else is wanted by
    subscribers that lack something: offsets, topics, and how much they lack."""
    ends = np.zeros(len(needs) + 1, np.int64)
    rest = np.empty(len(lists), np.int32)
    lacking = np.zeros(len(needs), np.int64)
    at = 0
    for i in range(len(needs)):
        total, got = 0, 0
        for j in range(offsets[i], offsets[i + 1]):
            topic = lists[j]
            total += rates[topic]
            if was[j] >= 0 and low <= topic < high:
                held[j] = True
                got += rates[topic]
        need = min(needs[i], total)
        if got < need:
            lacking[i] = need - got
            for j in range(offsets[i], offsets[i + 1]):
                if not held[j]:
                    rest[at] = lists[j]
                    at += 1
        ends[i + 1] = at
    return ends, rest[:at], lacking


@kernel
def _compare(
    offsets: Int64s,
    lists: Int32s,
    needs: Int64s,
    rates: Int64s,
    prices: Float64s,
    tolerance: float,
    fresh: Bools,
    held: Bools,
) -> None:
    """Keep `held` where it is not too dear, else without what is not needed, else
    make it what is `fresh`."""
    for i in range(len(needs)):
        total, got = 0, 0
        limit, price = 0.0, 0.0
        for j in range(offsets[i], offsets[i + 1]):
            topic = lists[j]
            total += rates[topic]
            if fresh[j]:
                limit += prices[topic]
            if held[j]:
                got += rates[topic]
                price += prices[topic]
        limit *= 1.0 + tolerance
        need = min(needs[i], total)
        if price <= limit:
            continue
        for j in range(offsets[i], offsets[i + 1]):
            topic = lists[j]
            if held[j] and got - rates[topic] >= need:
                held[j] = False
                got -= rates[topic]
                price -= prices[topic]
        if price <= limit:
            continue
        for j in range(offsets[i], offsets[i + 1]):
            held[j] = fresh[j]


@kernel
def _add_pairs(
    starts: Int64s, broker: Int32s, lists: Int32s, was: Int32s, tally: Tally
) -> bool:
    counts, size, kept, leading, last = tally
    for j in range(len(lists)):
        topic = lists[j]
        counts[topic] += 1
        run = last[topic]
        if was[j] >= 0 and (run < 0 or broker[run] != was[j]):
            run = starts[topic]
            while run < starts[topic + 1] and broker[run] != was[j]:
                run += 1
            if run == starts[topic + 1]:
                return False
            last[topic] = run
        if was[j] >= 0:
            kept[run] += 1
        if run >= 0:
            size[run] += 1
        else:
            leading[topic] += 1
    return True
