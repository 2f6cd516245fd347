"""Finding the one number that makes a curve meet a fact."""

from collections.abc import Callable

_HALVINGS = 100


def crossing(curve: Callable[[float], float], low: float, high: float) -> float:
    """Where a rising curve crosses zero between `low` and `high`."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if curve(middle) > 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2
