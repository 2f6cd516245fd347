"""Users and brokers wired at least cost: from a network to a plan."""

from typing import Any

import numpy as np

from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.model.plan import Status
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.options import Options
from brokerwise.planners.overlay.placing import Unplaced, refusal
from brokerwise.planners.overlay.routes import trees_of
from brokerwise.planners.overlay.search import Answer, search
from brokerwise.planners.overlay.wiring import Wiring


def solve(network: Network, options: Options) -> OverlayPlan:
    """The cheapest wiring found, with a proven bound.

    Capacity and reach are respected always. Infeasible if users are proven not to
    fit, unknown if no packing was found: the reason says why, with numbers. Same
    network and options, same plan, unless `stop` ended it.
    """
    demand = Demand.of(network)
    reason = refusal(demand, network.user_names)
    if reason is not None:
        return _refused(options, reason, proven=True)
    answer = search(demand, options)
    if isinstance(answer, Unplaced):
        return _refused(options, answer.reason, proven=answer.proven)
    found, bound = answer.found, answer.bound.total
    with options.stage("trees"):
        trees = trees_of(demand, found.broker, found.tree)
    cost = found.costs.total
    return OverlayPlan(
        algorithm=options.algorithm,
        status=Status.OPTIMAL if cost == bound else Status.FEASIBLE,
        objective=cost,
        bound=bound,
        broker=found.broker,
        load=Wiring.of(demand, found.broker).load,
        trees=trees,
        tree=options.tree,
        figures=_figures(demand, answer),
        options=_chosen(options),
        seed=options.seed,
    )


def _figures(demand: Demand, answer: Answer) -> dict[str, Any]:
    """Costs are in thousandths."""
    found, costs = answer.found, answer.costs
    figures: dict[str, Any] = {
        "access": found.costs.access,
        "core": found.costs.core,
        "cost": found.costs.total,
        "bound_access": answer.bound.access,
        "bound_core": answer.bound.core,
        "brokers": len(np.unique(found.broker)),
        "load": int(demand.load.sum()),
        "most_load": int(Wiring.of(demand, found.broker).load.max(initial=0)),
        "moves": found.moves,
        "rounds": found.rounds,
        "start": found.start,
        **{name: cost.total for name, cost in costs.items()},
    }
    if "random" in costs and found.costs.total:
        figures["crr"] = costs["random"].total / found.costs.total
    return figures


def _chosen(options: Options) -> dict[str, Any]:
    chosen: dict[str, Any] = {"algorithm": options.algorithm, "tree": options.tree}
    return chosen | ({"stopped": "time"} if options.stop() else {})


def _refused(options: Options, reason: str, *, proven: bool) -> OverlayPlan:
    nothing = np.zeros(0, np.int32)
    return OverlayPlan(
        algorithm=options.algorithm,
        status=Status.INFEASIBLE if proven else Status.UNKNOWN,
        objective=None,
        bound=None,
        broker=nothing,
        load=np.zeros(0, np.int64),
        trees=Trees(nothing, nothing, nothing, nothing),
        tree=options.tree,
        options=_chosen(options),
        seed=options.seed,
        reason=reason,
    )
