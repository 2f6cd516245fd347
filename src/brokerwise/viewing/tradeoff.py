"""What other plans for the same workload cost: those that lie beside a plan."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

from brokerwise.model.errors import InputError
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.report.numbers import dollars
from brokerwise.report.plots import Plot, Series
from brokerwise.report.provision_comparison import cost_against_threshold
from brokerwise.report.provision_sentences import title
from brokerwise.storage.place import Place
from brokerwise.storage.plan import HEADER, PlanHeader, read_fleet, read_plan_header

_MOST = 200  # directories that are looked into
_NUMBERS = ("threshold", "cost", "bound")


def tradeoff(place: Place, header: PlanHeader) -> Plot | None:
    """Cost against threshold of this plan and of those beside it, one line a fleet;
    None if it is the only one. `provision` puts several plans beside each other."""
    own = _compared(header)
    others = list(_beside(place, header))
    if not others:
        return None
    plot = cost_against_threshold([own, *others])
    cost = own["cost"]
    text = f"this plan, {title(own)}: {dollars(cost)}"
    this = Series("this plan", [own["threshold"]], [cost], [text], "points", 3)
    return replace(
        plot,
        caption=f"{plot.caption} The plans are those that lie beside this one and are "
        "for the same workload.",
        series=[*plot.series, this],
    )


def _beside(place: Place, header: PlanHeader) -> Iterator[dict[str, Any]]:
    """The other plans of kind provision in the directory that the plan is in, as far
    as they can be compared: what is wrong with them is nothing of this one's."""
    for folder in _folders(place.local):
        try:
            found = read_plan_header(Place(str(folder)))
            same = found.workload["digest"] == header.workload["digest"]
            absent = found.status in WITHOUT_PLAN
            if not same or found.kind != header.kind or absent:
                continue
            compared = _compared(found)
            usable = all(isfinite(compared[key]) for key in _NUMBERS)
        except (InputError, OSError, TypeError, ValueError, LookupError, OverflowError):
            continue
        if usable:
            yield compared


def _folders(here: Path | None) -> Sequence[Path]:
    if here is None:
        return []
    every = sorted(here.resolve().parent.glob(f"*/{HEADER}"))
    return [f.parent for f in every if f.parent != here.resolve()][:_MOST]


def _compared(header: PlanHeader) -> dict[str, Any]:
    """As much of a plan's result as a comparison needs."""
    return {
        "threshold": header.threshold,
        "types": [
            {"type": kind.name, "capacity": kind.capacity}
            for kind in read_fleet(header)
        ],
        "cost": header.objective,
        "bound": header.bound,
    }
