"""Link costs: whole numbers, and what brokers' links must obey.

People state costs as decimal numbers (milliseconds, dollars, distances); inside they
are whole thousandths, so that sums are exact. They are rounded up: that keeps the
triangle inequality, since a sum of whole numbers that covers a number covers it
rounded up, too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import InputError

THOUSANDTHS = 1000
MOST_COST = 10**12
"""Of one link, in thousandths."""

# Thousandths, and a share, that are floating point's doing: 0.1 + 0.2 is no more
# than 0.3.
_ABSOLUTE, _RELATIVE = 1e-9, 2.0**-50


def cost_units(costs: Any) -> Int64s:
    """Costs in thousandths, rounded up; they must be finite and not negative."""
    scaled = np.asarray(costs, np.float64) * THOUSANDTHS
    return np.ceil(scaled - (_ABSOLUTE + _RELATIVE * scaled)).astype(np.int64)


def distances(a: Float64s, b: Float64s) -> Int64s:
    """Costs of links between points: their Euclidean distance.

    Of points on a line, rounding may break the triangle inequality by a thousandth:
    `shortest_paths` mends that between brokers.
    """
    squares = np.zeros((len(a), len(b)))
    for dimension in range(a.shape[1]):
        difference = a[:, dimension, None] - b[None, :, dimension]
        squares += difference * difference
    return cost_units(np.sqrt(squares))


@dataclass(frozen=True)
class Detour:
    """Three brokers: the link from `a` to `b` costs more than the way by `by`."""

    a: int
    by: int
    b: int
    link: int
    detour: int


def shorter_detour(core: Int64s) -> Detour | None:
    """The worst violation of the triangle inequality, or None. O(brokers^3)."""
    worst, found = 0, None
    for by in range(len(core)):
        way = core[:, by, None] + core[None, by, :]
        excess = core - way
        at = int(np.argmax(excess))
        if excess.flat[at] > worst:
            worst = int(excess.flat[at])
            a, b = divmod(at, len(core))
            found = Detour(a, by, b, int(core[a, b]), int(way[a, b]))
    return found


def shortest_paths(core: Int64s) -> Int64s:
    """Each link at the cost of the cheapest way between its ends. O(brokers^3)."""
    best = core.copy()
    for by in range(len(core)):
        np.minimum(best, best[:, by, None] + best[None, by, :], out=best)
    return best


def check_core(core: Int64s, names: Any = None) -> None:
    """Refuse costs of links between brokers that are no metric.

    `names` gives the name of a broker by its number, for errors.
    """

    def broker(number: int) -> str:
        return f"broker {number}" if names is None else repr(names[number])

    if np.diagonal(core).any():
        at = int(np.argmax(np.diagonal(core) != 0))
        raise InputError(
            f"core costs: {broker(at)} to itself costs "
            f"{core[at, at] / THOUSANDTHS:g}, expected 0"
        )
    if (core != core.T).any():
        a, b = divmod(int(np.argmax(core != core.T)), len(core))
        raise InputError(
            f"core costs: {broker(a)} to {broker(b)} costs "
            f"{core[a, b] / THOUSANDTHS:g}, back {core[b, a] / THOUSANDTHS:g}, "
            "expected the same both ways"
        )
    wrong = shorter_detour(core)
    if wrong is not None:
        raise InputError(
            f"core costs: {broker(wrong.a)} to {broker(wrong.b)} costs "
            f"{wrong.link / THOUSANDTHS:g}, but by {broker(wrong.by)} only "
            f"{wrong.detour / THOUSANDTHS:g}: the triangle inequality does not hold"
        )
