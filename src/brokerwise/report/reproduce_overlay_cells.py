"""Finding cells in the result of `reproduce overlay`, and how things are called."""

from collections.abc import Mapping
from typing import Any

Result = Mapping[str, Any]

PAPERS = ("greedy", "clustering", "steiner")
"""Algorithms that wire all samples; `steiner` is our variant of the paper's mixing."""
LITERAL = "steiner_literal"
OURS = "local"
ALGORITHMS = (*PAPERS, LITERAL, OURS)
PAPER_NAMES = {
    "random": "random",
    "greedy": "greedy packing",
    "clustering": "clustering",
    "steiner": "our mixing",
    LITERAL: "mixing",
}
"""Our algorithms, and what the paper calls them, or would."""
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
    if algorithm in PAPERS:
        return float(cell["crr"][algorithm]["mean"])
    found = cell["local" if algorithm == OURS else "literal"]
    return float(found["mean"]) if found else None


def order_of(cell: Result) -> list[tuple[str, float]]:
    """The algorithms that wired all samples by falling mean, with random (1) in its
    place."""
    return _falling({name: cell["crr"][name]["mean"] for name in PAPERS})


def literal_order(cell: Result) -> list[tuple[str, float]]:
    """The same with the paper's own mixing, on the samples that it wired, and without
    our variant of it; nothing if there are none."""
    found = cell["literal"]
    if not found:
        return []
    others = {name: found["others"][name]["mean"] for name in ("greedy", "clustering")}
    return _falling({**others, LITERAL: found["mean"]})


def _falling(means: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted([("random", 1.0), *means.items()], key=lambda found: -found[1])


def _of(result: Result, regime: Result) -> list[Result]:
    return [cell for cell in result["cells"] if cell["regime"] == regime["key"]]
