"""Topics whose messages are processed by their broker, and a co-location plan: which of
them share which broker.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brokerwise.model.arrays import Float64s, Int32s, freeze_arrays, numbers
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.model.plan import Status, check_answer, gap


@dataclass(frozen=True, eq=False, repr=False)
class TopicTable:
    """Topics in the order they were given, each name once.

    Attributes
    ----------
    processing_ms
        Processor time that one message of the topic takes.
    rate_per_second
        Messages of all its publishers together.
    target_ms
        What the 90th percentile of its latency must not exceed.
    """

    names: Names
    processing_ms: Float64s
    rate_per_second: Float64s
    target_ms: Float64s

    def __post_init__(self) -> None:
        for name in ("processing_ms", "rate_per_second", "target_ms"):
            values = numbers(getattr(self, name), name)
            if len(values) != len(self.names):
                raise InputError(
                    f"{name}: found {len(values):,} values, "
                    f"expected {len(self.names):,}, one a topic"
                )
            self._check_each(name, values)
            object.__setattr__(self, name, values)
        self._check_names()

    def _check_each(self, name: str, values: Float64s) -> None:
        wrong = ~(np.isfinite(values) & (values > 0))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InputError(
                f"{name} of topic {self.names[at]!r}: found {values[at]:g}, "
                "expected a number above 0"
            )

    def _check_names(self) -> None:
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise InputError(f"topic {name!r} is there twice")
            seen.add(name)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"TopicTable({len(self):,} topics)"


@dataclass(frozen=True, eq=False, repr=False)
class Replicas:
    """Where topics are: a row for each replica. A topic has one, or, if it was split,
    several, each with a part of its publishers and on a broker of its own.

    Sorted by topic, then by number. Brokers are numbered from 0, none is empty.

    Attributes
    ----------
    topic, number
        Replica `number` (from 0) of a topic.
    rate_per_second
        What this replica gets of the topic's messages.
    predicted_p90_ms
        What the model says of it, beside the others on its broker.
    """

    topic: Int32s
    number: Int32s
    broker: Int32s
    rate_per_second: Float64s
    predicted_p90_ms: Float64s

    def __post_init__(self) -> None:
        freeze_arrays(
            self, "replicas", topic=np.int32, number=np.int32, broker=np.int32
        )
        for name in ("rate_per_second", "predicted_p90_ms"):
            object.__setattr__(self, name, numbers(getattr(self, name), name))
        names = ("number", "broker", "rate_per_second", "predicted_p90_ms")
        if any(len(getattr(self, name)) != len(self.topic) for name in names):
            raise InputError("replicas: their columns differ in length")

    @property
    def brokers(self) -> int:
        return int(self.broker.max(initial=-1)) + 1

    def __len__(self) -> int:
        return len(self.topic)


def replica_name(topic: str, number: int) -> str:
    """What replica `number` (from 0) of a topic that was split is called."""
    return f"{topic}~{number + 1}"


@dataclass(frozen=True, eq=False, repr=False)
class ColocationPlan:
    """A plan of kind `colocate`.

    `objective` is the number of brokers and `bound` proven, by the word of the model:
    no plan has fewer. Both are None if there is no plan: `reason` says why, with
    numbers, and `remedy` what would help the topic that it names: `split`, a lower
    `rate` or a higher `target`. `k` is how many topics may share a broker; `margin`
    the share of each target that predictions must stay below it.
    """

    algorithm: str
    status: Status
    objective: int | None
    bound: int | None
    replicas: Replicas
    k: int
    margin: float
    figures: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    remedy: str = ""
    kind: str = "colocate"

    def __post_init__(self) -> None:
        check_answer(self.status, objective=self.objective, bound=self.bound)

    @property
    def gap(self) -> float | None:
        """(objective - bound) / objective; 0 for 0/0, None without a plan."""
        return gap(self.objective, self.bound)

    def __repr__(self) -> str:
        found = ""
        if self.objective is not None:
            found = f", {self.objective:,} brokers, bound {self.bound:,}"
        return f"ColocationPlan(by {self.algorithm}: {self.status}{found})"
