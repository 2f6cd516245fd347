"""What links cost, from tables that people measured: gaps, two directions, detours."""

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.network import MOST_COST, cost_units, shortest_paths

NO_WAY = 2**60
"""The cost of a link that is not there, in thousandths; two of them still add up."""


def check_square(costs: Float64s, what: str) -> None:
    """Refuse a matrix that is not square, or holds what is no cost; NaN is a gap."""
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1]:
        shape = " x ".join(f"{length:,}" for length in costs.shape)
        raise InputError(f"{what}: found {shape}, expected a square matrix")
    wrong = (costs < 0) | (costs * 1000 > MOST_COST)
    if wrong.any():
        row, column = divmod(int(np.argmax(wrong)), len(costs))
        raise InputError(
            f"{what}: found {costs[row, column]:g} in row {row + 1}, column "
            f"{column + 1}, expected from 0 to {MOST_COST // 1000:,}"
        )


def averaged(costs: Float64s) -> Float64s:
    """Each link at the mean of its two directions, or at the one that is known."""
    back = costs.T
    mean = (costs + back) / 2
    one = np.where(np.isnan(costs), back, costs)
    return np.where(np.isnan(mean), one, mean)


def whole(costs: Float64s) -> Int64s:
    """In thousandths, gaps as NO_WAY."""
    gaps = np.isnan(costs)
    return np.where(gaps, NO_WAY, cost_units(np.where(gaps, 0.0, costs)))


def filled(costs: Int64s) -> Int64s:
    """Gaps at the cost of the cheapest way round; other links stay. O(rows^3)."""
    gaps = costs >= NO_WAY
    if not gaps.any():
        return costs
    return np.where(gaps, np.minimum(shortest_paths(costs), NO_WAY), costs)


def metric(costs: Int64s) -> Int64s:
    """Costs between brokers, each link at its cheapest way; nothing to itself."""
    links = costs.copy()
    np.fill_diagonal(links, 0)
    return np.minimum(shortest_paths(links), NO_WAY)
