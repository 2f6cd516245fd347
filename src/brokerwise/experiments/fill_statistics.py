"""What a cell's instances come to, beside what is published of it."""

from collections.abc import Sequence
from dataclasses import asdict
from math import sqrt
from statistics import mean, median, stdev
from typing import Any

from brokerwise.experiments.fill_published import (
    HEURISTIC_WITHIN,
    ILP_ERRORS,
    ILP_ROUNDED,
)
from brokerwise.experiments.fill_settings import Cell
from brokerwise.experiments.resume import Result
from brokerwise.model.plan import gap

WITHIN_SHARE = 0.001
WITHIN_UNITS = 2
"""A filling is as good as proven if its bound is not further than one of these."""

HEURISTICS = ("greedy", "mkp")
_DIGITS = 6

Record = dict[str, Any]


def cell_result(cell: Cell, records: Sequence[Record]) -> Result:
    """A cell of the experiment as the report wants it."""
    shape = cell.shape
    result: Result = {
        "topics": shape.topics,
        "subscribers": shape.subscribers,
        "each": shape.each,
        "distribution": cell.distribution.title,
        "family": cell.distribution.family,
        "capacity": cell.capacity,
        "brokers": cell.brokers,
        "small": cell.small,
        "instances": len(records),
        "published": _published(cell),
        "problems": [
            f"{cell.title}, instance {record['number']}: {problem}"
            for record in records
            for problem in record["problems"]
        ],
    }
    for name in HEURISTICS:
        result[name] = {
            **_percentages(records, name),
            "ms": _rounded(mean(record[f"{name}_ms"] for record in records)),
        }
    certified = [record for record in records if "columns" in record]
    result["columns"] = _certified(certified) if certified else None
    result["checks"] = _checks(result)
    return result


def _percentages(records: Sequence[Record], of: str) -> dict[str, float]:
    """Mean of what is delivered in percent of what is wanted, and its error."""
    shares = [100 * r[of] / r["wanted"] if r["wanted"] else 100.0 for r in records]
    error = stdev(shares) / sqrt(len(shares)) if len(shares) > 1 else 0.0
    return {"percent": _rounded(mean(shares)), "error": _rounded(error)}


def _certified(records: Sequence[Record]) -> Result:
    seconds = [record["seconds"] for record in records]
    return {
        **_percentages(records, "columns"),
        "bound": _percentages(records, "bound")["percent"],
        "bound_paper": _percentages(records, "bound_paper")["percent"],
        "instances": len(records),
        "optimal": sum(r["columns"] == r["bound"] for r in records),
        "within": sum(map(is_within, records)),
        "stopped": sum(r["stopped"] for r in records),
        "worst_gap": _rounded(max(map(_gap, records))),
        "seconds": _rounded(median(seconds)),
        "worst_seconds": _rounded(max(seconds)),
        "greedy": _percentages(records, "greedy")["percent"],
        "mkp": _percentages(records, "mkp")["percent"],
    }


def is_within(record: Record) -> bool:
    """Whether the certificate leaves next to nothing open."""
    missing = record["bound"] - record["columns"]
    return bool(missing <= WITHIN_UNITS or _gap(record) <= WITHIN_SHARE)


def _gap(record: Record) -> float:
    return gap(record["columns"], record["bound"]) or 0.0


def _published(cell: Cell) -> Result:
    received = cell.received
    return {
        "solved": cell.solved,
        "received": asdict(received) if received else None,
    }


def _checks(result: Result) -> dict[str, bool] | None:
    """Whether ours is where Tables III and IV are, neither below nor above, and
    MKPBS ahead of GS where it is there; None for cells not in them."""
    theirs = result["published"]["received"]
    if theirs is None:
        return None
    greedy, mkp = result["greedy"]["percent"], result["mkp"]["percent"]
    checks = {
        "gs": abs(greedy - theirs["gs"]) <= HEURISTIC_WITHIN,
        "mkpbs": abs(mkp - theirs["mkpbs"]) <= HEURISTIC_WITHIN,
    }
    if theirs["mkpbs"] > theirs["gs"]:
        checks["order"] = mkp > greedy
    ours = result["columns"]
    if ours is not None:
        most = ILP_ERRORS * ours["error"] + ILP_ROUNDED
        checks["ilp"] = abs(ours["percent"] - theirs["ilp"]) <= most
    return checks


def _rounded(number: float) -> float:
    return round(number, _DIGITS)
