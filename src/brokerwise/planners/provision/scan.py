"""Passes over the interests of a workload: the seam between planner and data.

The planner decides which passes there are and what becomes of their results; a scan
makes them, in memory here or on Spark elsewhere, block by block with the same
kernels. So both give the same plan.
"""

from collections.abc import Iterator
from math import fsum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from brokerwise.kernels.ascent import ascend_block
from brokerwise.kernels.selection import (
    Rule,
    Survey,
    Topics,
    Weights,
    select_block,
    survey_block,
)
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.interests import BLOCK, Interests
from brokerwise.model.workload import NO_THRESHOLD, Workload


class Scan(Protocol):
    """A workload with the threshold that its subscribers are to reach."""

    rates: Int64s
    subscribers: int
    pairs: int
    period_seconds: int
    message_bytes: int

    def survey(self, topics: Topics) -> Survey:
        """What the interests demand at least."""
        ...

    def count(self, topics: Topics, rule: Rule) -> Int64s:
        """The pairs of each topic that a rule selects."""
        ...

    def lists(self, topics: Topics, rule: Rule) -> Iterator[tuple[Int64s, Int32s]]:
        """Offsets and topics of what a rule selects, block by block."""
        ...

    def ascend(
        self, topics: Topics, weights: Weights, *, first: bool
    ) -> tuple[float, Int64s]:
        """One round of ascent: what subscribers cost at least, and the sum of the
        new shares of each topic. Shares stay with the scan, which keeps one ascent;
        the `first` round of another forgets them.
        """
        ...

    def wanted(self, subscriber: int) -> tuple[int, Int32s]:
        """A subscriber's threshold and topics."""
        ...

    def topic_name(self, topic: int) -> str: ...
    def subscriber_name(self, subscriber: int) -> str: ...


class MemoryScan:
    """Passes over a workload in memory."""

    def __init__(self, workload: Workload, threshold: int) -> None:
        self._workload = workload
        self.rates, self.pairs = workload.rates, workload.pairs
        self.subscribers = workload.subscribers
        self.period_seconds = workload.period_seconds
        self.message_bytes = workload.message_bytes
        self._needs = needs_of(
            workload.thresholds, threshold, workload.interests.subscribers
        )
        self._least = np.full(0, -1, np.int64)
        self._shares: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)

    def survey(self, topics: Topics) -> Survey:
        survey = Survey.empty(len(topics.rates))
        lists = self._workload.interests.topics
        for first, offsets, needs in self._blocks():
            survey_block(topics, first, offsets, lists, needs, survey)
        return survey

    def count(self, topics: Topics, rule: Rule) -> Int64s:
        counts = np.zeros(len(topics.rates), np.int64)
        for _ in self._selected(topics, rule, counts):
            pass
        return counts

    def lists(self, topics: Topics, rule: Rule) -> Iterator[tuple[Int64s, Int32s]]:
        return self._selected(topics, rule, np.zeros(len(topics.rates), np.int64))

    def selection(self, topics: Topics, rule: Rule) -> Interests:
        """All that a rule selects."""
        lengths, chosen = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
        for offsets, block in self.lists(topics, rule):
            lengths.append(np.diff(offsets))
            chosen.append(block)
        return Interests(np.cumsum(np.concatenate(lengths)), np.concatenate(chosen))

    def ascend(
        self, topics: Topics, weights: Weights, *, first: bool
    ) -> tuple[float, Int64s]:
        interests = self._workload.interests
        if first:
            self._least = np.full(self.subscribers, -1, np.int64)
            self._shares = np.zeros(self.pairs, np.uint32)
        sums = np.zeros(len(topics.rates), np.int64)
        values = []
        for start, offsets, needs in self._blocks():
            least = self._least[start : start + BLOCK]
            values.append(
                ascend_block(
                    topics,
                    offsets,
                    interests.topics,
                    needs,
                    weights,
                    least,
                    self._shares,
                    sums,
                )
            )
        return fsum(values), sums

    def wanted(self, subscriber: int) -> tuple[int, Int32s]:
        topics = self._workload.interests.of(subscriber)
        return int(self._needs[subscriber]), topics

    def topic_name(self, topic: int) -> str:
        return self._workload.topic_names[topic]

    def subscriber_name(self, subscriber: int) -> str:
        return self._workload.subscriber_names[subscriber]

    def _selected(
        self, topics: Topics, rule: Rule, counts: Int64s
    ) -> Iterator[tuple[Int64s, Int32s]]:
        lists = self._workload.interests.topics
        for first, offsets, needs in self._blocks():
            yield select_block(rule, topics, first, offsets, lists, needs, counts)

    def _blocks(self) -> Iterator[tuple[int, Int64s, Int64s]]:
        offsets = self._workload.interests.offsets
        for first in range(0, self.subscribers, BLOCK):
            yield (
                first,
                offsets[first : first + BLOCK + 1],
                self._needs[first : first + BLOCK],
            )


def needs_of(thresholds: Int64s | None, threshold: int, subscribers: int) -> Int64s:
    """What each subscriber is to receive, if it wants as much: its own threshold,
    where it has one."""
    needs = np.full(subscribers, threshold, np.int64)
    if thresholds is not None:
        own = thresholds != NO_THRESHOLD
        needs[own] = thresholds[own]
    return needs
