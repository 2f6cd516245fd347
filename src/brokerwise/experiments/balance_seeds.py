"""Ours against the paper's migration, over many seeds of its simulation."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

Record = Mapping[str, Any]

_KEYS = ("cov", "max_load", "moves")


def over_seeds(records: Sequence[Record], paper: str, ours: Sequence[str]) -> Record:
    """Seed by seed what each came to, of seeds that all of them have; for each of
    ours, in how many seeds cov, averaged over time, is lower than the paper's, and in
    how many of those with no more moves."""
    by_seed: dict[int, dict[str, Record]] = {}
    for one in records:
        by_seed.setdefault(one["seed"], {})[one["policy"]] = one
    rows = [
        {
            "seed": seed,
            **{name: {key: found[name][key] for key in _KEYS} for name in found},
        }
        for seed, found in sorted(by_seed.items())
        if {paper, *ours} <= found.keys()
    ]
    return {
        "paper": paper,
        "ours": list(ours),
        "rows": rows,
        "compared": {name: _compared(rows, paper, name) for name in ours},
    }


def _compared(rows: Sequence[Record], paper: str, ours: str) -> Record:
    lower = [row for row in rows if row[ours]["cov"] < row[paper]["cov"]]
    return {
        "lower_cov": len(lower),
        "lower_cov_no_more_moves": sum(
            row[ours]["moves"] <= row[paper]["moves"] for row in lower
        ),
        **{f"{key}_over_papers": _ratio(rows, paper, ours, key) for key in _KEYS},
    }


def _ratio(rows: Sequence[Record], paper: str, ours: str, key: str) -> float | None:
    """The mean of ours over the mean of the paper's."""
    theirs = fmean(row[paper][key] for row in rows) if rows else 0.0
    return fmean(row[ours][key] for row in rows) / theirs if theirs else None
