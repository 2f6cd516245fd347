"""Where each pair goes, in runs."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s, freeze_arrays
from brokerwise.model.errors import InputError
from brokerwise.model.interests import Interests


@dataclass(frozen=True, eq=False, repr=False)
class Placement:
    """Runs: a number of pairs of a topic on a broker, by topic, then in run order.

    The selected pairs of a topic, in order of their subscribers, fill its runs
    one after the other. So O(topics) numbers say where every pair goes. Only where
    that cannot be, as nothing may move, `pair_broker` has the broker of each selected
    pair; the runs are then in any order.
    """

    topic: Int32s
    broker: Int32s
    pairs: Int64s
    pair_broker: Int32s | None = None

    def __post_init__(self) -> None:
        freeze_arrays(
            self, "placement", topic=np.int32, broker=np.int32, pairs=np.int64
        )
        if self.pair_broker is not None:
            freeze_arrays(self, "placement", pair_broker=np.int32)
        if not len(self.topic) == len(self.broker) == len(self.pairs):
            raise InputError(
                f"placement: {len(self.topic):,} topics, {len(self.broker):,} brokers "
                f"and {len(self.pairs):,} counts of pairs do not match"
            )
        for field, least in (("topic", 0), ("broker", 0), ("pairs", 1)):
            values = getattr(self, field)
            if len(values) and values.min() < least:
                raise InputError(
                    f"{field} of placement: found {values.min()}, "
                    f"expected {least} or more"
                )
        if (self.topic[1:] < self.topic[:-1]).any():
            raise InputError("placement: runs go by topic")
        # Few topics have several runs; looking at all of them would take seconds.
        again = self.topic[1:] == self.topic[:-1]
        cut = np.zeros(len(self.topic), np.bool_)
        cut[1:] = again
        cut[:-1] |= again
        key = np.sort(self.topic[cut].astype(np.int64) << 32 | self.broker[cut])
        if (key[1:] == key[:-1]).any():
            raise InputError("placement: a topic has two runs on one broker")

    @property
    def runs(self) -> int:
        return len(self.topic)

    def brokers_of(self, selection: Interests) -> Int32s:
        """The broker of each selected pair, aligned with `selection.topics`."""
        topics = max(_past(selection.topics), _past(self.topic))
        served = np.bincount(self.topic, self.pairs, topics).astype(np.int64)
        selected = np.bincount(selection.topics, minlength=topics)
        if (served != selected).any():
            topic = int(np.argmax(served != selected))
            raise InputError(
                f"placement: topic {topic} has {selected[topic]:,} selected pairs "
                f"but runs for {served[topic]:,}"
            )
        if self.pair_broker is not None:
            return self._checked_pairs(selection, self.pair_broker)
        brokers = np.empty(selection.pairs, np.int32)
        # A stable sort by topic keeps subscribers in order, as the runs are.
        order = np.argsort(selection.topics, kind="stable")
        brokers[order] = np.repeat(self.broker, self.pairs)
        return brokers

    def _checked_pairs(self, selection: Interests, brokers: Int32s) -> Int32s:
        """The brokers of the pairs, if there are as many on each as the runs say."""
        if len(brokers) != selection.pairs:
            raise InputError(
                f"placement: found brokers of {len(brokers):,} pairs, expected of "
                f"{selection.pairs:,}"
            )
        key = selection.topics.astype(np.int64) << 32 | brokers
        found, pairs = np.unique(key, return_counts=True)
        runs = self.topic.astype(np.int64) << 32 | self.broker
        order = np.argsort(runs)
        if not (
            np.array_equal(found, runs[order])
            and np.array_equal(pairs, self.pairs[order])
        ):
            raise InputError("placement: the brokers of its pairs differ from its runs")
        return brokers

    def __repr__(self) -> str:
        return f"Placement({self.runs:,} runs, {int(self.pairs.sum()):,} pairs)"


def _past(topics: Int32s) -> int:
    return int(topics.max()) + 1 if len(topics) else 0
