"""How much the pairs of topics and of subscribers count, where not all count alike."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from brokerwise.model.arrays import Int64s, whole_numbers
from brokerwise.model.errors import InputError
from brokerwise.model.workload import Workload

MOST = 1_000_000


@dataclass(frozen=True, eq=False)
class Weights:
    """A pair counts its rate times the weight of its topic and of its subscriber.

    Whole numbers from 0 to a million, one for each topic or subscriber of the
    workload, in the order of their ids; None where all count once. A pair of weight
    0 is worth nothing and is never served, unless its topic has rate 0.
    """

    topics: Int64s | None = None
    subscribers: Int64s | None = None

    def __post_init__(self) -> None:
        for field in ("topics", "subscribers"):
            values = getattr(self, field)
            if values is not None:
                what = f"{field[:-1]}_weights"
                object.__setattr__(self, field, _checked(values, what))

    @property
    def plain(self) -> bool:
        """Whether every pair counts just its rate."""
        return self.topics is None and self.subscribers is None

    def check(self, workload: Workload) -> None:
        """Refuse weights that are not one for each topic or subscriber."""
        for what, values, expected in (
            ("topic", self.topics, workload.topics),
            ("subscriber", self.subscribers, workload.subscribers),
        ):
            if values is not None and len(values) != expected:
                raise InputError(
                    f"{what}_weights: found {len(values):,}, expected {expected:,}, "
                    f"one for each {what} of the workload"
                )


PLAIN = Weights()
"""Every pair counts its rate."""


def _checked(values: Any, field: str) -> Int64s:
    weights: Int64s = whole_numbers(values, np.int64, field)
    if len(weights) and (weights.min() < 0 or weights.max() > MOST):
        wrong = weights.min() if weights.min() < 0 else weights.max()
        raise InputError(
            f"{field}: found {wrong:,}, expected whole numbers from 0 to {MOST:,}"
        )
    return weights
