"""What `brokerwise provision --json` prints, and what reports are made from."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from brokerwise.model.plan import Plan
    from brokerwise.pipeline.provision.replan import Replanned
    from brokerwise.planners.provision.solve import Step
    from brokerwise.storage.place import Place
    from brokerwise.storage.plan import PlanHeader

_FIGURES = (
    *("cost", "cost_brokers", "cost_bandwidth", "cost_month"),
    *("incoming", "outgoing", "pairs", "load_bound", "brokers_bound"),
    *("load_bound_paper", "bound_paper", "gap_paper", "modest", "left_out"),
)

# What was found to do where there is no plan: more brokers, or more moves.
_FOUND = ("brokers_found", "moves_found")


def plan_result(
    plan: "Plan", header: "PlanHeader | None", out: "Place", facts: Mapping[str, Any]
) -> dict[str, Any]:
    """One plan; where there is none, its figures are null, but for what is proven,
    and `reason` says why."""
    done = header is not None
    result = {
        "kind": plan.kind,
        "status": plan.status.value,
        "objective": plan.objective,
        "bound": plan.bound,
        "gap": _finite(plan.gap),
        "algorithm": plan.algorithm,
        "threshold": plan.threshold,
        "types": _types(plan),
        "gigabyte_usd": plan.fleet.gigabyte_usd,
        "gigabyte_in_usd": plan.fleet.incoming_usd,
        "brokers": len(plan.brokers) if done else None,
        "load": plan.load if done else None,
        **{key: _finite(plan.figures.get(key)) for key in _FIGURES},
        "options": dict(plan.options),
        "seed": plan.seed,
        "seconds": dict(plan.seconds),
        "out": str(out) if done else None,
        "digest": None if header is None else header.digest,
        **facts,
    }
    if done:
        return result
    found = {name: plan.figures.get(name) for name in _FOUND}
    return result | {"reason": plan.reason, "tried": list(plan.tried), **found}


def budget_result(plan: "Plan", budget: float | None) -> dict[str, Any]:
    """Whether a plan can be had for so much; nothing if nobody asked."""
    from brokerwise.model.plan import Status
    from brokerwise.planners.provision.solve import affordable

    if budget is None:
        return {}
    if plan.status is Status.INFEASIBLE:
        return {"budget": budget, "affordable": "no"}
    return {"budget": budget, "affordable": affordable(plan, budget).value}


def naive_result(steps: "Sequence[Step]") -> dict[str, Any]:
    """What the naive plan comes to; nothing if the steps were not planned."""
    if not steps or steps[0].cost is None:
        return {}
    return {"naive": {"brokers": steps[0].brokers, "cost": steps[0].cost}}


def moves_result(replanned: "Replanned", max_moves: int | None) -> dict[str, Any]:
    """What changed from the plan before."""
    keys = ("moves", "added", "removed", "kept", "brokers_added", "brokers_removed")
    return {
        **{key: int(getattr(replanned, key)) for key in keys},
        "cost_before": replanned.cost_before,
        "cost_fresh": replanned.cost_fresh,
        "max_moves": max_moves,
    }


def details(
    plan: "Plan",
    steps: "Sequence[Step]",
    topics: tuple[Any, Any],
    result: Mapping[str, Any],
) -> dict[str, Any]:
    """What only a report shows: the steps, and where the money goes."""
    from brokerwise.report.spending import spending

    rates, names = topics
    period_seconds, message_bytes = result["period_seconds"], result["message_bytes"]
    return {
        "steps": [asdict(step) for step in steps],
        "spending": spending(plan, rates, names, period_seconds, message_bytes),
    }


def _types(plan: "Plan") -> list[dict[str, Any]]:
    """The types of the fleet, with how many brokers of each the plan has."""
    number = np.bincount(plan.brokers.type, minlength=len(plan.fleet.broker_types))
    return [
        {
            "type": kind.name,
            "brokers": int(count),
            "capacity": kind.capacity,
            "hour_usd": kind.hour_usd,
            "limit": kind.count,
        }
        for kind, count in zip(plan.fleet, number, strict=True)
    ]


def _finite(number: float | None) -> float | None:
    """JSON has no infinity: a gap that is no share of the objective is null."""
    return number if number is None or isfinite(number) else None
