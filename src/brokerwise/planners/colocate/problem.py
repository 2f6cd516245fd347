"""What a co-location planner is asked, and what it has to put on brokers: topics, or
their replicas where they are split.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.model.colocation import TopicTable
from brokerwise.model.errors import InputError
from brokerwise.model.latency import Predictor
from brokerwise.model.units import checked_count
from brokerwise.planners.control import Stage, Stop, check_name, never

ALGORITHMS = ("search", "ffd", "lfs", "hybrid")
DEFAULT_OPEN = 3

DEFAULT_MARGIN = 0.1
"""Share of its target that a topic is predicted to stay below it, unless told."""

MS_PER_SECOND = 1000


@dataclass(frozen=True)
class Options:
    """How to plan.

    Attributes
    ----------
    open
        With how many topics `hybrid` opens a broker (the paper's k'); at most k.
    split
        Cut topics that miss their target alone into replicas.
    stop
        Asked by long searches; once it says yes, the best so far is the answer.
    stage
        Entered with the name of each stage that begins.
    """

    algorithm: str = "search"
    open: int = DEFAULT_OPEN
    split: bool = False
    seed: int = 0
    stop: Stop = never
    stage: Stage = nullcontext

    def __post_init__(self) -> None:
        check_name("algorithm", self.algorithm, ALGORITHMS)
        checked_count(self.open, "open", least=1)
        checked_count(self.seed, "seed")


@dataclass(frozen=True)
class Observation:
    """Topics that were seen on one broker together, ascending, and the rate that each
    had there."""

    topics: tuple[int, ...]
    rates: tuple[float, ...]

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in pairwise(self.topics))
        if not rising or len(self.topics) != len(self.rates) or not self.topics:
            raise InputError(
                f"observed topics: found {self.topics} at rates {self.rates}, "
                "expected each topic once, ascending, with its rate"
            )


@dataclass(frozen=True, eq=False)
class Problem:
    """Topics to be put on as few equal brokers as possible, at most `k` on each.

    A predictor may have an attribute `monotone`. True promises that no prediction
    falls when a topic is added to a set, or when one of its topics takes longer or
    comes more often.

    Attributes
    ----------
    margin
        Predictions must stay below the target by this share of it.
    missed, met
        Sets that were seen to miss a target of theirs, and to meet all. What holds
        one that was missed is never used; what was met is, whatever the model says.
    """

    topics: TopicTable
    predictor: Predictor
    k: int
    margin: float = DEFAULT_MARGIN
    missed: tuple[Observation, ...] = ()
    met: tuple[Observation, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_count(self.k, "k", least=1))
        if not 0 <= self.margin < 1:
            raise InputError(
                f"margin: found {self.margin:g}, expected from 0 to below 1"
            )
        most = self.predictor.most_topics
        if self.k > most:
            raise InputError(
                f"k: found {self.k:,}, but the model knows at most {most:,} topics "
                "on a broker",
                hint=f"Plan with a k of at most {most:,}, or train a model on data "
                f"with {self.k:,} topics on a broker.",
            )
        for seen in (*self.missed, *self.met):
            if not 0 <= seen.topics[0] <= seen.topics[-1] < len(self.topics):
                raise InputError(
                    f"observed topics: found {seen.topics}, expected numbers from 0 "
                    f"to {len(self.topics) - 1:,}"
                )


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
        """The demand of a problem with equal `replicas` of each topic."""
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
