"""What `brokerwise fill --json` prints, and what reports are made from."""

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from brokerwise.model.fleet import Bandwidth, Fleet
    from brokerwise.model.plan import Plan
    from brokerwise.model.workload import Workload
    from brokerwise.pipeline.fill import Filled
    from brokerwise.planners.control import Stop
    from brokerwise.planners.fill.limits import Limits
    from brokerwise.storage.place import Place

_FIGURES = (
    *("delivered", "delivered_percent", "wanted", "incoming", "outgoing", "pairs"),
    *("bound_paper", "gap_paper", "greedy", "mkp", "patterns", "left_out"),
    "weighted_wanted",
)
_NAMED = 3  # topics that a warning names


def fill_result(
    filled: "Filled", fleet: "Fleet | Bandwidth", out: "Place", stop: "Stop"
) -> dict[str, Any]:
    """One plan, what limits it, and what to beware of; `fleet` is what was asked."""
    from brokerwise.planners.fill.limits import limits

    plan, workload = filled.plan, filled.workload
    found = limits(plan, workload)
    return {
        "kind": plan.kind,
        "status": plan.status.value,
        "objective": plan.objective,
        "bound": plan.bound,
        "gap": _finite(plan.gap),
        "algorithm": plan.algorithm,
        "brokers": len(plan.brokers),
        "load": plan.load,
        **{key: _finite(plan.figures.get(key)) for key in _FIGURES},
        "types": _types(plan),
        "fleet": found.brokers,
        "bandwidth": _bandwidth(plan.fleet),
        "full": found.full,
        "left_over": found.left_over,
        "more": _more_brokers(filled, found, stop),
        **_sizes(workload),
        "warnings": _warnings(filled, fleet),
        "options": dict(plan.options),
        "seed": plan.seed,
        "seconds": dict(plan.seconds),
        "out": str(out),
        "digest": filled.header.digest,
    }


def _more_brokers(filled: "Filled", found: "Limits", stop: "Stop") -> int | None:
    """How many more brokers of this size were found to carry everything that fits.

    None if everything is carried, there are several sizes, or it takes too long. The
    algorithms tried are those that a plan by the same algorithm is as good as.
    """
    from brokerwise.planners.fill.filling import HEURISTICS
    from brokerwise.planners.fill.limits import enough
    from brokerwise.planners.fill.problem import Demand

    plan, sizes = filled.plan, filled.plan.fleet.broker_types
    split = "total_bandwidth" in plan.options
    if len(sizes) > 1 or split or not found.left_over:
        return None
    same = (plan.algorithm,) if plan.algorithm in HEURISTICS else tuple(HEURISTICS)
    number = enough(
        Demand.of(filled.workload, plan.weights),
        sizes[0].capacity,
        least=found.brokers + 1,
        algorithms=same,
        stop=stop,
    )
    return None if number is None else number - found.brokers


def _warnings(filled: "Filled", fleet: "Fleet | Bandwidth") -> list[str]:
    """Says which wanted topics fit on no broker, if any."""
    from brokerwise.planners.fill.problem import Demand
    from brokerwise.planners.fill.solve import fits_nowhere, largest_broker

    demand = Demand.of(filled.workload, filled.plan.weights)
    topics = fits_nowhere(demand, fleet)
    if not len(topics):
        return []
    largest = largest_broker(fleet)
    names = filled.workload.topic_names
    told = [
        f'"{names[int(t)]}" (rate {demand.rates[t]:,}) needs {2 * demand.rates[t]:,}'
        for t in topics[:_NAMED]
    ]
    rest = len(topics) - len(told)
    if rest:
        told.append(f"and {rest:,} more")
    what = "1 topic fits" if len(topics) == 1 else f"{len(topics):,} topics fit"
    return [f"{what} on no broker, the largest has {largest:,}: {', '.join(told)}"]


def details(filled: "Filled") -> dict[str, Any]:
    """What only a report shows: loads of brokers, and which topics are delivered."""
    from brokerwise.report.fill_details import fill_details

    plan, workload = filled.plan, filled.workload
    return fill_details(plan, workload.rates, workload.followers())


def _sizes(workload: "Workload") -> dict[str, int]:
    return {
        "topics": workload.topics,
        "subscribers": workload.subscribers,
        "pairs_wanted": workload.pairs,
        "period_seconds": workload.period_seconds,
        "message_bytes": workload.message_bytes,
    }


def _types(plan: "Plan") -> list[dict[str, Any]]:
    """The types of the fleet, with how many brokers of each carry something."""
    number = np.bincount(plan.brokers.type, minlength=len(plan.fleet.broker_types))
    return [
        {
            "type": kind.name,
            "capacity": kind.capacity,
            "count": kind.count,
            "brokers": int(used),
        }
        for kind, used in zip(plan.fleet, number, strict=True)
    ]


def _bandwidth(fleet: "Fleet") -> int:
    return sum((kind.count or 0) * kind.capacity for kind in fleet)


def _finite(number: float | None) -> float | None:
    """JSON has no infinity: a gap that is no share of the objective is null."""
    return number if number is None or isfinite(number) else None
