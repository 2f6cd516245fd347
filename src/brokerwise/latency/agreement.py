"""How far simulated or predicted latencies are from those that were measured."""

from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Float64s


@dataclass(frozen=True)
class Agreement:
    """Errors of p90s, of which `log(other / measured)` are the logarithms.

    Attributes
    ----------
    rows
        How many there are.
    median, p90
        Of how many times one is the other, less 1: at 0.05 half of them are within
        5 %, whichever is larger.
    bias
        Median of other / measured, less 1.
    r2
        Of the logarithms: 1 less the sum of squared errors over that of the
        measured ones around their mean; None if these are all the same.
    """

    rows: int
    median: float
    p90: float
    bias: float
    r2: float | None


def agreement(errors: Float64s, measured: Float64s) -> Agreement:
    """Of rows with these logarithms of other / measured, and these measured p90s."""
    sizes = np.abs(errors)
    logs = np.log(measured)
    spread = float(np.sum((logs - logs.mean()) ** 2))
    return Agreement(
        rows=len(errors),
        median=float(np.expm1(np.median(sizes))),
        p90=float(np.expm1(np.quantile(sizes, 0.9))),
        bias=float(np.expm1(np.median(errors))),
        r2=1 - float(np.sum(errors**2)) / spread if spread > 0 else None,
    )
