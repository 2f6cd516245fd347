"""Finding cells in the result of `reproduce fill`, and how they are called."""

from collections.abc import Iterator, Mapping
from typing import Any

Result = Mapping[str, Any]

HOMOGENEOUS = "Homogeneous"
PRINTED, MEANT = "LowVariance 8-19", "LowVariance 8-12"
"""Two readings of one distribution: as the paper prints it, and as it seems to be."""
_DISTRIBUTIONS = (HOMOGENEOUS, PRINTED, MEANT, "HighVariance")
PAPER_INSTANCES = 50
SMALL_TOPICS = {100: "Table I", 1000: "Table II"}
PAPER_NAMES = {"columns": "ILP", "greedy": "GS", "mkp": "MKPBS"}
"""Our algorithms, and the paper's that they stand beside."""


def cells_of(result: Result, **wanted: Any) -> list[Result]:
    """The cells with these fields, by number of brokers."""
    found = [c for c in result["cells"] if all(c[k] == v for k, v in wanted.items())]
    return sorted(found, key=lambda cell: cell["brokers"])


def cell_of(result: Result, **wanted: Any) -> Result | None:
    """The cell with these fields, if it was run."""
    found = cells_of(result, **wanted)
    return found[0] if found else None


def distributions(result: Result) -> list[str]:
    """Those that were run, by how much rates differ."""
    known = {cell["distribution"] for cell in result["cells"]}
    return [title for title in _DISTRIBUTIONS if title in known]


def certified(result: Result, **wanted: Any) -> Iterator[Result]:
    """Cells that `columns` has filled too."""
    return (c for c in cells_of(result, **wanted) if c["columns"] is not None)


def percents(cell: Result, algorithm: str) -> float | None:
    """What an algorithm delivers; None if it was not run on the whole cell."""
    found = cell[algorithm]
    if algorithm != "columns":
        return float(found["percent"])
    whole = found is not None and found["instances"] == cell["instances"]
    return float(found["percent"]) if whole else None
