"""How good predictions are: of the logarithm of p90, and of whether targets are met."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Float64s


def r2(logs: Float64s, predicted: Float64s) -> float:
    """1 less the squared errors over those of the mean; NaN where nothing varies."""
    spread = float(np.sum((logs - logs.mean()) ** 2))
    errors = float(np.sum((logs - predicted) ** 2))
    return 1 - errors / spread if spread > 0 else float("nan")


def rmse(logs: Float64s, predicted: Float64s) -> float:
    """The root of the mean squared error: 0.1 is about 10 %."""
    return float(np.sqrt(np.mean((logs - predicted) ** 2)))


@dataclass(frozen=True)
class Verdicts:
    """What predictions say about a target, and what is true.

    Attributes
    ----------
    accepted
        Topics that were predicted to meet the target, with the margin.
    missed
        Those among them that did not: false negatives. They cost targets.
    met
        Topics that did meet it.
    refused
        Those among them that were not predicted to: false positives. They cost
        brokers.
    """

    accepted: int
    missed: int
    met: int
    refused: int

    @property
    def missed_share(self) -> float | None:
        return self.missed / self.accepted if self.accepted else None

    @property
    def refused_share(self) -> float | None:
        return self.refused / self.met if self.met else None

    def as_json(self) -> dict[str, float | None]:
        return {
            "accepted": self.accepted,
            "missed": self.missed,
            "missed_share": self.missed_share,
            "met": self.met,
            "refused": self.refused,
            "refused_share": self.refused_share,
        }


def verdicts(
    logs: Float64s, predicted: Float64s, target_ms: float, margin: float
) -> Verdicts:
    """Whether each p90 meets the target, and is predicted to stay below it by the
    margin; both arguments are logarithms."""
    accepted = predicted <= np.log(target_ms * (1 - margin))
    met = logs <= np.log(target_ms)
    return Verdicts(
        int(accepted.sum()),
        int((accepted & ~met).sum()),
        int(met.sum()),
        int((met & ~accepted).sum()),
    )


def added(every: Sequence[Verdicts]) -> Verdicts:
    return Verdicts(
        sum(each.accepted for each in every),
        sum(each.missed for each in every),
        sum(each.met for each in every),
        sum(each.refused for each in every),
    )
