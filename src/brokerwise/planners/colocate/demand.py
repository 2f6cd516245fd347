"""What has to be put on brokers: topics, or their replicas where they are split."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.planners.colocate.problem import Problem

MS_PER_SECOND = 1000


@dataclass(frozen=True, eq=False)
class Demand:
    """A row for each replica, by topic and number; a topic that is not split has one.

    Attributes
    ----------
    limit_ms
        What its prediction must not exceed: its target, less the margin.
    kind
        Replicas of one kind look the same to the model and were never observed: one
        can stand in for the other.
    load
        Cores of processing.
    """

    topic: Int32s
    number: Int32s
    processing_ms: Float64s
    rate_per_second: Float64s
    limit_ms: Float64s
    kind: Int32s
    load: Float64s

    @classmethod
    def of(cls, problem: Problem, replicas: Int64s | None = None) -> "Demand":
        """The demand of a problem with so many equal replicas of each topic."""
        topics = problem.topics
        count = np.ones(len(topics), np.int64) if replicas is None else replicas
        topic = np.repeat(np.arange(len(topics)), count)
        first = np.repeat(np.cumsum(count) - count, count)
        processing = topics.processing_ms[topic]
        rate = (topics.rate_per_second / count)[topic]
        limit = topics.target_ms[topic] * (1 - problem.margin)
        return cls(
            topic=topic.astype(np.int32),
            number=(np.arange(len(topic)) - first).astype(np.int32),
            processing_ms=processing,
            rate_per_second=rate,
            limit_ms=limit,
            kind=_kinds(processing, rate, limit, _observed(problem)[topic]),
            load=processing * rate / MS_PER_SECOND,
        )

    @property
    def kinds(self) -> int:
        return int(self.kind.max(initial=-1)) + 1

    @property
    def split(self) -> bool:
        """Whether any topic has several replicas."""
        return bool(self.number.any())

    def __len__(self) -> int:
        return len(self.topic)


def _observed(problem: Problem) -> Int64s:
    """The number of each topic that was observed, -1 for the others."""
    own = np.full(len(problem.topics), -1)
    for seen in (*problem.missed, *problem.met):
        own[list(seen.topics)] = seen.topics
    return own


def _kinds(*columns: Float64s | Int64s) -> Int32s:
    if not len(columns[0]):
        return np.zeros(0, np.int32)
    rows = np.column_stack([column.astype(np.float64) for column in columns])
    _, kind = np.unique(rows, axis=0, return_inverse=True)
    return kind.reshape(-1).astype(np.int32)
