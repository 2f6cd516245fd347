"""What a cell's samples come to: means, their errors, and what is proven."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import sqrt
from statistics import mean, median, stdev
from typing import Any

from brokerwise.experiments.overlay_measure import LITERAL
from brokerwise.experiments.overlay_published import MIXING, ORDER
from brokerwise.experiments.overlay_settings import Cell
from brokerwise.experiments.resume import Result
from brokerwise.model.plan import gap

PAPERS = ("greedy", "clustering", "steiner")
OURS = "local"
VARIANT = "steiner"
"""Our variant of the paper's mixing."""
_DIGITS = 6

Record = dict[str, Any]


def cell_results(cell: Cell, records: Sequence[Record]) -> Iterator[Result]:
    """A result for each ratio, as the report wants it."""
    for ratio in cell.ratios:
        samples = [record["ratios"][f"{ratio:g}"] for record in records]
        ours = [sample for sample in samples if OURS in sample["costs"]]
        yield {
            "regime": cell.regime.key,
            "users": cell.users,
            "brokers": cell.brokers,
            "subchannels": cell.subchannels,
            "ratio": ratio,
            "width": cell.regime.width,
            "samples": len(samples),
            "crr": {name: _reduction(samples, name) for name in PAPERS},
            "core_share": {
                name: _rounded(mean(_core_share(s, name) for s in samples))
                for name in ("random", *PAPERS)
            },
            "seconds": {
                name: _rounded(median(s["seconds"][name] for s in samples))
                for name in ("random", *PAPERS)
            },
            "paper_order": in_order(samples, VARIANT),
            "literal": _literal([s for s in samples if LITERAL in s["costs"]]),
            "local": _ours(ours) if ours else None,
        }


def cell_problems(cell: Cell, records: Sequence[Record]) -> list[str]:
    return [
        f"{cell.title}, sample {record['number']}: {problem}"
        for record in records
        for problem in record["problems"]
    ]


def in_order(samples: Sequence[Record], mixing: str) -> bool:
    """Whether means are in the order of the paper, and all above 1, with an algorithm
    in the place of its mixing."""
    names = [mixing if name == MIXING else name for name in ORDER]
    means = [_reduction(samples, name)["mean"] for name in names] + [1.0]
    return all(a > b for a, b in pairwise(means))


def _literal(samples: Sequence[Record]) -> Result | None:
    """Of the samples that the paper's mixing has wired, what it and the others come to
    there."""
    if not samples:
        return None
    return {
        "samples": len(samples),
        **_reduction(samples, LITERAL),
        "others": {name: _reduction(samples, name) for name in PAPERS},
        "paper_order": in_order(samples, LITERAL),
        "core_share": _rounded(mean(_core_share(s, LITERAL) for s in samples)),
        "seconds": _rounded(median(s["seconds"][LITERAL] for s in samples)),
    }


def _ours(samples: Sequence[Record]) -> Result:
    """Of the samples that `local` has wired, what it and the others come to there."""
    gaps = [gap(_total(s, OURS), s["bound"]) or 0.0 for s in samples]
    possible = [_ratio(_total(s, "random"), s["bound"]) for s in samples]
    return {
        "samples": len(samples),
        **_reduction(samples, OURS),
        "others": {name: _reduction(samples, name) for name in PAPERS},
        "possible": _rounded(mean(possible)),
        "gap": _rounded(mean(gaps)),
        "worst_gap": _rounded(max(gaps)),
        "best": sum(_is_best(sample) for sample in samples),
        "core_share": _rounded(mean(_core_share(s, OURS) for s in samples)),
        "seconds": _rounded(median(s["seconds"][OURS] for s in samples)),
        "worst_seconds": _rounded(max(s["seconds"][OURS] for s in samples)),
    }


def _reduction(samples: Sequence[Record], name: str) -> dict[str, float]:
    """The mean cost reduction ratio, and its standard error."""
    ratios = [_ratio(_total(s, "random"), _total(s, name)) for s in samples]
    error = stdev(ratios) / sqrt(len(ratios)) if len(ratios) > 1 else 0.0
    return {"mean": _rounded(mean(ratios)), "error": _rounded(error)}


def _is_best(sample: Record) -> bool:
    return all(_total(sample, OURS) <= _total(sample, name) for name in sample["costs"])


def _core_share(sample: Record, name: str) -> float:
    return _ratio(sample["costs"][name][1], _total(sample, name), of_nothing=0.0)


def _total(sample: Record, name: str) -> int:
    return int(sum(sample["costs"][name]))


def _ratio(cost: int, of: int, of_nothing: float = 1.0) -> float:
    return cost / of if of else of_nothing


def _rounded(number: float) -> float:
    return round(number, _DIGITS)
