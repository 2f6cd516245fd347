"""Finding numbers in the result of `reproduce colocate`, and how things are called."""

from collections.abc import Mapping
from typing import Any

from brokerwise.report.numbers import significant

Result = Mapping[str, Any]

PAPER, PAPER_200, UNIFIED = "paper", "paper-200", "unified"
KINDS = {PAPER: "the paper's recipe", UNIFIED: "our model"}
"""What plans are made with."""
EVALUATED = {
    PAPER: "the paper's recipe",
    PAPER_200: "the paper's recipe after 200 iterations",
    UNIFIED: "our model",
}
OPENING = 3
HYBRID = f"hybrid {OPENING}"
ALGORITHMS = {
    "ffd": "FFD",
    "lfs": "LFS",
    HYBRID: f"LFS{OPENING} + FFD (hybrid)",
    "search": "search (ours)",
}
SEARCH = "search"
OPENINGS_TOPICS = 50
PARTS = ("train", "test", "validation")
NONE = "-"


def learned(result: Result, kind: str, topics: int) -> Result | None:
    """What was learned from all configurations, for a number of topics."""
    for record in result["learned"]:
        same = record["kind"] == kind and record["topics"] in (0, topics)
        if same and not record["size"] and str(topics) in record["scores"]:
            return dict(record)
    return None


def curve(result: Result, kind: str, topics: int) -> list[tuple[int, Result]]:
    """Configurations learned from, and the scores then: ascending."""
    found = []
    for record in result["learned"]:
        same = record["kind"] == kind and record["topics"] in (0, topics)
        scores = record["scores"].get(str(topics)) if same else None
        if scores is not None:
            found.append((scores["train_rows"] // topics, scores))
    return sorted(found, key=lambda pair: pair[0])


def rows_of(result: Result, kind: str, label: str) -> list[Result]:
    """Means over requests by number of topics, ascending."""
    found = [
        row for row in result["plans"] if (row["kind"], row["label"]) == (kind, label)
    ]
    return sorted(found, key=lambda row: row["topics"])


def openings(result: Result, kind: str) -> list[tuple[int, Result]]:
    """Figure 4: means over requests by k'."""
    found = [
        (int(row["label"].removeprefix("hybrid ")), row)
        for row in result["plans"]
        if row["kind"] == kind
        and row["topics"] == OPENINGS_TOPICS
        and row["label"].startswith("hybrid ")
    ]
    return sorted(found, key=lambda pair: pair[0])


def r2_text(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def ms_text(value: float) -> str:
    return f"{significant(value)} ms"


def share_text(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.2f} %"


def numbers_of(result: Result) -> list[int]:
    """The numbers of topics that may share a broker."""
    return list(range(1, result["setting"]["k"] + 1))
