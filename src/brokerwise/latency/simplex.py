"""The least of a function of a few numbers, without its derivatives."""

from collections.abc import Callable

import numpy as np

from brokerwise.model.arrays import Float64s

Function = Callable[[Float64s], float]


def minimise(
    function: Function, start: Float64s, steps: Float64s, evaluations: int
) -> tuple[Float64s, float]:
    """Where the function is least, as far as the simplex search of Nelder and Mead [1]
    finds it with about so many evaluations, and its value there.

    It begins with `start` and the points one step from it in each direction. Never
    worse than `start`; no more is promised. The same call, the same answer.

    .. [1] Nelder and Mead (1965). A simplex method for function minimization. The
       Computer Journal 7.
    """
    points = np.vstack([start, start + np.diag(steps)])
    values = np.array([function(point) for point in points])
    used = len(points)
    while used < evaluations:
        order = np.argsort(values, kind="stable")
        points, values = points[order], values[order]
        used += _improve(function, points, values)
    best = int(np.argmin(values))
    return points[best], float(values[best])


def _improve(function: Function, points: Float64s, values: Float64s) -> int:
    """Replace the worst of the sorted points, or draw all nearer to the best; returns
    how often the function was asked."""
    middle = points[:-1].mean(axis=0)
    away = middle - points[-1]
    turned = middle + away
    value = function(turned)
    asked = 1
    if value < values[0]:
        further = middle + 2 * away
        farthest = function(further)
        asked += 1
        if farthest < value:
            turned, value = further, farthest
    elif value >= values[-2]:
        outside = value < values[-1]
        turned = middle + (0.5 if outside else -0.5) * away
        bar = value if outside else values[-1]
        value = function(turned)
        asked += 1
        if value > bar:
            return asked + _shrink(function, points, values)
    points[-1], values[-1] = turned, value
    return asked


def _shrink(function: Function, points: Float64s, values: Float64s) -> int:
    points[1:] = (points[0] + points[1:]) / 2
    values[1:] = [function(point) for point in points[1:]]
    return len(points) - 1
