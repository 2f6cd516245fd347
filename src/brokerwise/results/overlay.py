"""What `brokerwise overlay --json` prints, and what reports are made from."""

from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brokerwise.model.overlay import OverlayPlan
    from brokerwise.pipeline.overlay import Wired
    from brokerwise.storage.place import Place

# Costs are whole thousandths in a plan; people have them in their own unit.
_COSTS = (
    *("access", "core", "cost", "bound_access", "bound_core"),
    *("random", "greedy", "clustering", "steiner", "steiner_literal"),
)
_OTHERS = ("crr", "moves", "rounds", "start", "most_load")


def overlay_result(wired: "Wired", out: "Place") -> dict[str, Any]:
    """One plan and what limits it; where there is none, its figures are null and
    `reason` says why."""
    from brokerwise.results.overlay_limits import limits

    plan, network = wired.plan, wired.network
    done = wired.header is not None
    found = limits(plan, network) if done else None
    result = {
        "kind": plan.kind,
        "status": plan.status.value,
        "objective": _units(plan.objective),
        "bound": _units(plan.bound),
        "gap": _finite(plan.gap),
        "algorithm": plan.algorithm,
        "tree": plan.tree,
        "brokers": None if found is None else found.used,
        "load": int(plan.load.sum()) if done else None,
        **{key: _units(plan.figures.get(key)) for key in _COSTS},
        **{key: _finite(plan.figures.get(key)) for key in _OTHERS},
        "users": network.users,
        "fleet": network.brokers,
        "capacity": int(network.capacity.sum()),
        "subchannels": len(network.subchannels),
        "full": None if found is None else found.full,
        "kept": None if found is None else found.kept,
        "period_seconds": network.period_seconds,
        "options": dict(plan.options),
        "seed": plan.seed,
        "seconds": dict(plan.seconds),
        "out": str(out) if done else None,
        "digest": None if wired.header is None else wired.header.digest,
    }
    return result if done else result | {"reason": plan.reason}


def details(wired: "Wired") -> dict[str, Any]:
    """What only a report shows: the map, loads of brokers, traffic on links."""
    from brokerwise.planners.overlay.problem import Demand
    from brokerwise.planners.overlay.wiring import wiring_of
    from brokerwise.report.overlay_details import overlay_details

    plan: OverlayPlan = wired.plan
    demand = Demand.of(wired.network)
    sources = wiring_of(demand, plan.broker).sources
    return overlay_details(plan, wired.network, sources, demand.load)


def _units(thousandths: int | None) -> float | None:
    """A cost in the network's own unit."""
    from brokerwise.model.network import THOUSANDTHS

    return None if thousandths is None else thousandths / THOUSANDTHS


def _finite(figure: Any) -> Any:
    """JSON has no infinity: a ratio to nothing is null."""
    return None if isinstance(figure, float) and not isfinite(figure) else figure
