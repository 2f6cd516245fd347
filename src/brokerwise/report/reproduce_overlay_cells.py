"""Finding cells in the result of `reproduce overlay`, and how things are called."""

from collections.abc import Mapping
from typing import Any

Result = Mapping[str, Any]

PAPERS = ("greedy", "clustering", "steiner")
OURS = "local"
ALGORITHMS = (*PAPERS, OURS)
PAPER_NAMES = {
    "random": "random",
    "greedy": "greedy packing",
    "clustering": "clustering",
    "steiner": "mixing",
}
"""Our algorithms, and what the paper calls them."""
LARGEST = 10_000
"""Users of the paper's Figure 10 and Table I."""


def generated(result: Result) -> list[Result]:
    """Regimes of networks that were drawn, not of latency files."""
    return [regime for regime in result["regimes"] if regime["sites"] is None]


def at_sites(result: Result) -> list[Result]:
    return [regime for regime in result["regimes"] if regime["sites"] is not None]


def by_users(result: Result, regime: Result) -> list[Result]:
    """Figure 9: the cells of a regime at its ratio, smallest first."""
    found = _of(result, regime)
    same = [cell for cell in found if cell["ratio"] == regime["ratio"]]
    return sorted(same, key=lambda cell: cell["users"])


def by_ratio(result: Result, regime: Result) -> list[Result]:
    """Figure 10: the cells of a regime's largest networks, by ratio, if there are
    several."""
    found = _of(result, regime)
    users = max((cell["users"] for cell in found), default=0)
    largest = [cell for cell in found if cell["users"] == users]
    return sorted(largest, key=lambda cell: cell["ratio"]) if len(largest) > 1 else []


def reduction(ratio: float) -> str:
    """A cost reduction ratio for people: `9.97`."""
    return f"{ratio:,.2f}"


def mean_of(cell: Result, algorithm: str) -> float | None:
    """The mean cost reduction ratio; None if the algorithm was not run."""
    if algorithm != OURS:
        return float(cell["crr"][algorithm]["mean"])
    return float(cell["local"]["mean"]) if cell["local"] else None


def order_of(cell: Result, names: tuple[str, ...] = PAPERS) -> list[str]:
    """Algorithms by falling mean, with random (1) in its place."""
    means = {"random": 1.0} | {
        name: mean for name in names if (mean := mean_of(cell, name)) is not None
    }
    return sorted(means, key=lambda name: -means[name])


def _of(result: Result, regime: Result) -> list[Result]:
    return [cell for cell in result["cells"] if cell["regime"] == regime["key"]]
