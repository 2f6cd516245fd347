"""The answer to a planning question."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf, isfinite
from typing import Any

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s, freeze_arrays
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.placement import Placement
from brokerwise.model.units import checked_count
from brokerwise.model.workload import PLAIN, Weights


class Status(StrEnum):
    """`infeasible` is proven; `unknown` says that no plan was found, though there may
    be one. Neither comes with a plan."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


WITHOUT_PLAN = (Status.INFEASIBLE, Status.UNKNOWN)
"""What a status is where there is no plan."""


@dataclass(frozen=True, eq=False, repr=False)
class Brokers:
    """The brokers a plan uses: broker i is of type `type[i]` of the fleet."""

    type: Int32s
    capacity: Int64s
    load: Int64s

    def __post_init__(self) -> None:
        freeze_arrays(self, "brokers", type=np.int32, capacity=np.int64, load=np.int64)
        if not len(self.type) == len(self.capacity) == len(self.load):
            raise InputError("brokers: type, capacity and load differ in length")

    def __len__(self) -> int:
        return len(self.type)


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """A plan of kind `provision` or `fill`: which pairs are served, and where.

    `bound` is proven: no plan has a better objective. Both are None if and only if
    there is no plan (infeasible or unknown): `reason` says why, with numbers.
    `figures` are the kind's own results (cost, delivered, ...), which can be read as
    attributes; `options`, `seed` and `weights` are enough to repeat it. `tried` are,
    where no plan was found, the ways that were tried, such as `shared+tight`.
    `selection` is None for a plan whose pairs are on disk only.
    """

    kind: str
    algorithm: str
    status: Status
    objective: float | None
    bound: float | None
    fleet: Fleet
    brokers: Brokers
    selection: Interests | None
    placement: Placement
    threshold: int | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    weights: Weights = PLAIN
    tried: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("objective", "bound"):
            object.__setattr__(self, name, self._checked(name))
        if self.threshold is not None:
            threshold = checked_count(self.threshold, "threshold")
            object.__setattr__(self, "threshold", threshold)
        types, used = self.brokers.type, self.placement.broker
        _check_below("type of broker", types, len(self.fleet.broker_types))
        _check_below("broker of placement", used, len(self.brokers))

    def _checked(self, name: str) -> float | None:
        value: float | None = getattr(self, name)
        absent = self.status in WITHOUT_PLAN
        if (value is None) != absent or not (value is None or isfinite(value)):
            raise InputError(
                f"{name} of a plan that is {self.status}: found {value}, "
                f"expected {'none' if absent else 'a number'}"
            )
        return value if value is None else float(value)

    @property
    def gap(self) -> float | None:
        """`|objective - bound| / |objective|`; 0 for 0/0, None without a plan."""
        return gap(self.objective, self.bound)

    @property
    def selected(self) -> Interests:
        """The selection, of a plan whose pairs are in memory."""
        if self.selection is None:
            raise InputError("the pairs of this plan are on disk only: read it first")
        return self.selection

    @property
    def load(self) -> int:
        return int(np.sum(self.brokers.load))

    def __getattr__(self, name: str) -> float:
        figures = self.__dict__.get("figures", {})
        if name in figures:
            value: float = figures[name]
            return value
        kind, status = self.__dict__.get("kind"), self.__dict__.get("status")
        what = f"{status} plan" if status in WITHOUT_PLAN else "plan"
        raise AttributeError(f"this {what} of kind {kind!r} has no {name!r}")

    def __repr__(self) -> str:
        return (
            f"Plan({self.kind} by {self.algorithm}: {self.status}, "
            f"{self._found()}{len(self.brokers):,} brokers, "
            f"{int(self.placement.pairs.sum()):,} pairs)"
        )

    def _found(self) -> str:
        if self.objective is None or self.bound is None:
            return ""
        return (
            f"objective {self.objective:,.6g}, bound {self.bound:,.6g}, "
            f"gap {self.gap:.2%}, "
        )


def check_answer(status: Status, **answer: float | None) -> None:
    """Refuse numbers where there is no plan, and none where there is one."""
    for name, value in answer.items():
        if (value is None) != (status in WITHOUT_PLAN):
            raise InputError(f"{name} of a plan that is {status}: found {value}")


def gap(objective: float | None, bound: float | None) -> float | None:
    """How far an objective may be from the best possible, as a share of itself.

    Infinite for an objective of zero below a bound that is not; None without both.
    """
    if objective is None or bound is None:
        return None
    if objective == bound:
        return 0.0
    return abs(objective - bound) / abs(objective) if objective else inf


def _check_below(what: str, values: Int32s, limit: int) -> None:
    if len(values) and (values.min() < 0 or values.max() >= limit):
        wrong = values.min() if values.min() < 0 else values.max()
        raise InputError(f"{what}: found {wrong}, expected from 0 to {limit - 1}")
