"""An overlay plan: which broker each user connects to, and how brokers forward."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s, freeze_arrays
from brokerwise.model.errors import InputError
from brokerwise.model.plan import Status, check_answer, gap


@dataclass(frozen=True, eq=False, repr=False)
class Trees:
    """The links that messages take: those from users of broker `source` in a
    sub-channel go from `parent` to `child`, once each.

    Sorted by source, sub-channel, then outwards from the source, children of one
    broker ascending. A (source, sub-channel) that needs no link has no row.
    """

    source: Int32s
    subchannel: Int32s
    parent: Int32s
    child: Int32s

    def __post_init__(self) -> None:
        names = ("source", "subchannel", "parent", "child")
        freeze_arrays(self, "trees", **dict.fromkeys(names, np.int32))
        if len({len(getattr(self, name)) for name in names}) != 1:
            raise InputError(
                "trees: source, subchannel, parent, child differ in length"
            )

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, eq=False, repr=False)
class OverlayPlan:
    """A plan of kind `overlay`.

    `objective` is the cost, access and core, in thousandths, and `bound` proven: no
    plan costs less. Both are None if there is no plan: `reason` says why, with
    numbers. `broker` is that of each user (empty without a plan), `load` and `trees`
    follow from it. `tree` says that the brokers are joined by one spanning tree.
    """

    algorithm: str
    status: Status
    objective: int | None
    bound: int | None
    broker: Int32s
    load: Int64s
    trees: Trees
    tree: bool = False
    figures: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    reason: str = ""
    kind: str = "overlay"

    def __post_init__(self) -> None:
        freeze_arrays(self, "overlay plan", broker=np.int32, load=np.int64)
        check_answer(self.status, objective=self.objective, bound=self.bound)

    @property
    def gap(self) -> float | None:
        """(objective - bound) / objective; 0 for 0/0, None without a plan."""
        return gap(self.objective, self.bound)

    def __repr__(self) -> str:
        found = ""
        if self.objective is not None and self.bound is not None:
            found = f", cost {self.objective:,}, gap {self.gap:.2%}"
        return f"OverlayPlan(by {self.algorithm}: {self.status}{found})"
