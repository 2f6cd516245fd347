"""The answer to a planning question."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.placement import Placement


class Status(StrEnum):
    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"


@dataclass(frozen=True, eq=False, repr=False)
class Brokers:
    """The brokers a plan uses: broker i is of type `type[i]` of the fleet."""

    type: Int32s
    capacity: Int64s
    load: Int64s

    def __post_init__(self) -> None:
        if not len(self.type) == len(self.capacity) == len(self.load):
            raise InputError("brokers: type, capacity and load differ in length")

    def __len__(self) -> int:
        return len(self.type)


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A plan of kind `provision` or `fill`: which pairs are served, and where.

    `bound` is proven: no plan has a better objective. `figures` are the kind's own
    results (cost, delivered, ...); `options` and `seed` are enough to repeat it.
    """

    kind: str
    algorithm: str
    status: Status
    objective: float
    bound: float
    fleet: Fleet
    brokers: Brokers
    selection: Interests
    placement: Placement
    threshold: int | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """|objective - bound| / |objective|; 0 for 0/0."""
        return gap(self.objective, self.bound)

    @property
    def load(self) -> int:
        return int(np.sum(self.brokers.load))

    def __repr__(self) -> str:
        return (
            f"Plan({self.kind} by {self.algorithm}: {self.status}, "
            f"objective {self.objective:,.6g}, bound {self.bound:,.6g}, "
            f"gap {self.gap:.2%}, {len(self.brokers):,} brokers, "
            f"{self.selection.pairs:,} pairs)"
        )


def gap(objective: float, bound: float) -> float:
    """How far an objective may be from the best possible, as a share of itself."""
    if objective == bound:
        return 0.0
    return abs(objective - bound) / abs(objective) if objective else float("inf")
