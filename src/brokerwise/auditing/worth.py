"""What pairs are worth, from sums by topic.

Stated again: a pair is worth its rate, times the weight of its topic and of its
subscriber where those have one.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from brokerwise.auditing.recount import Worth
from brokerwise.model.arrays import Int64s

# Sums up to here, added up in floating point, fit in 64 bits for certain.
_SAFE = float(2**62)


@dataclass(frozen=True, eq=False)
class TopicSums:
    """By topic: how many subscribers want it, what those weigh together, and what
    those weigh who are served."""

    followers: npt.NDArray[np.integer]
    wanted: npt.NDArray[np.integer]
    served: npt.NDArray[np.integer]


def worth_of(
    sums: TopicSums, rates: Int64s, weights: Int64s | None, largest: int
) -> Worth:
    """What the sums come to; `weights` are those of topics, `largest` is what one
    broker can carry at most."""
    weight = np.ones_like(rates) if weights is None else weights
    # Already one pair takes twice its rate: once in, once out.
    homeless = rates > largest // 2
    return Worth(
        wanted=_exact_sum(rates, sums.followers),
        wanted_value=_exact_sum(rates, weight, sums.wanted),
        served_value=_exact_sum(rates, weight, sums.served),
        left_out=int(np.count_nonzero(homeless & (sums.followers > 0))),
    )


def _exact_sum(*factors: npt.NDArray[np.integer]) -> int:
    """The sum of products of numbers from 0 up, however large."""
    products = np.prod([f.astype(np.float64) for f in factors], axis=0)
    kind = np.int64 if products.sum() <= _SAFE else object
    exact = np.ones(len(products), kind)
    for factor in factors:
        exact *= factor.astype(kind)
    return int(exact.sum())
