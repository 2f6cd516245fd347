"""Users and brokers wired at least cost: from a network to the best wiring that an
algorithm finds, what it must cost, and the plan.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from brokerwise.kernels.overlay_forwarding import spanning_routes, tree_routes
from brokerwise.model.arrays import Int32s
from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.model.plan import Status
from brokerwise.planners.overlay.bound import (
    Bound,
    Prices,
    find_prices,
    lower_bound,
    priced,
)
from brokerwise.planners.overlay.heuristics import BY_NAME, HEURISTICS
from brokerwise.planners.overlay.ilp import solve_ilp
from brokerwise.planners.overlay.local import SearchResult, local
from brokerwise.planners.overlay.placing import Unplaced, refusal, with_idle_users
from brokerwise.planners.overlay.problem import Demand, Options
from brokerwise.planners.overlay.tree import TreeEvaluation, spanning_tree
from brokerwise.planners.overlay.wiring import Costs, access_cost, costs_of, wiring_of

_ROUNDS = 600  # of the search for prices of brokers


def trees_of(demand: Demand, broker: Int32s, tree: Int32s | None = None) -> Trees:
    """A minimum spanning tree for each source and sub-channel, or the part of `tree`
    (links of all brokers) that leads to followers. Where one broker has all followers
    and the source, there is none."""
    wiring = wiring_of(demand, broker)
    if tree is None:
        found = spanning_routes(demand.core, wiring.followers, wiring.sources)
    else:
        found, rows = tree_routes(tree, wiring.followers, wiring.sources)
        found = found[:, :rows].copy()
    return Trees(*found)


@dataclass(frozen=True, eq=False)
class Answer:
    """What was found, what any wiring costs at least, and what the algorithms that
    ran on the way give, by name."""

    found: SearchResult
    bound: Bound
    costs: dict[str, Costs]


def search(demand: Demand, options: Options) -> Answer | Unplaced:
    """Run the algorithm asked for, and those that it needs.

    Users without traffic cost nothing anywhere, and need no room: whatever the
    algorithm, they are on their cheapest link.
    """
    answer = _searched(demand, options)
    if isinstance(answer, Unplaced):
        return answer
    broker = with_idle_users(demand, answer.found.broker)
    return replace(answer, found=replace(answer.found, broker=broker))


def _searched(demand: Demand, options: Options) -> Answer | Unplaced:
    tree = spanning_tree(demand.core) if options.tree else None
    with options.stage("heuristics"):
        wirings, unplaced = _heuristics(demand, options)
    own = options.algorithm in BY_NAME
    if options.algorithm not in wirings if own else not wirings:
        assert unplaced is not None
        if options.algorithm == "ilp":
            return _ilp_alone(demand, options, unplaced)
        return unplaced
    costs = {name: _costs(demand, found, tree) for name, found in wirings.items()}
    with options.stage("bound"):
        prices, cheap = _prices(demand, wirings)
        bound = lower_bound(demand, prices)
    if own:
        broker = wirings[options.algorithm]
        found = SearchResult(
            broker, costs[options.algorithm], options.algorithm, tree=tree
        )
        return Answer(found, bound, costs)
    best = min(wirings, key=lambda name: costs[name].total)
    # The best comes first: a search that is stopped at once must have it.
    starts = {n: wirings[n] for n in (best, "random") if n in wirings}
    if cheap is not None:
        starts["priced"] = cheap
    with options.stage("search"):
        found = local(
            demand,
            starts,
            bound.total,
            seed=options.seed,
            stop=options.stop,
            tree=tree,
        )
    if options.algorithm == "ilp":
        with options.stage("ilp"):
            found, bound = _proven(demand, options, found, bound)
    return Answer(found, bound, costs)


def _heuristics(
    demand: Demand, options: Options
) -> tuple[dict[str, Int32s], Unplaced | None]:
    """The wirings of the paper's algorithms: of chance and the one that is asked for,
    or of all; and why one found none."""
    wirings: dict[str, Int32s] = {}
    unplaced = None
    asked = options.algorithm
    for name in ("random", asked) if asked in BY_NAME else HEURISTICS:
        found = BY_NAME[name](demand, options.seed)
        if isinstance(found, Unplaced):
            unplaced = found
        else:
            wirings[name] = found
    return wirings, unplaced


def _prices(demand: Demand, wirings: dict[str, Int32s]) -> tuple[Prices, Int32s | None]:
    """Good prices, and the wiring that follows from them.

    What a wiring costs by the first prices says where a second search is to end.
    """
    target = min(access_cost(demand, broker) for broker in wirings.values())
    prices = find_prices(demand, target, _ROUNDS // 2)
    cheap = _priced(demand, prices)
    if cheap is not None and access_cost(demand, cheap) > prices.bound:
        again = find_prices(demand, access_cost(demand, cheap), _ROUNDS)
        if again.bound > prices.bound:
            prices, better = again, _priced(demand, again)
            cheap = cheap if better is None else better
    return prices, cheap


def _priced(demand: Demand, prices: Prices) -> Int32s | None:
    found = priced(demand, prices.prices)
    return None if isinstance(found, Unplaced) else found


def _costs(demand: Demand, broker: Int32s, tree: Int32s | None) -> Costs:
    if tree is None:
        return costs_of(demand, broker)
    return TreeEvaluation.of(demand, broker, tree).total(demand)


def _proven(
    demand: Demand, options: Options, found: SearchResult, bound: Bound
) -> tuple[SearchResult, Bound]:
    """What the integer program makes of a wiring."""
    answer = solve_ilp(demand, tree=options.tree, stop=options.stop, begin=found.broker)
    if answer.broker is not None:
        costs = _costs(demand, answer.broker, answer.tree)
        if costs.total <= found.costs.total:
            found = replace(found, broker=answer.broker, costs=costs, tree=answer.tree)
    if answer.bound > bound.total:
        bound = replace(bound, core=answer.bound - bound.access)
    return found, bound


def _ilp_alone(
    demand: Demand, options: Options, unplaced: Unplaced
) -> Answer | Unplaced:
    """The integer program, where no algorithm found a packing to begin with."""
    with options.stage("ilp"):
        answer = solve_ilp(demand, tree=options.tree, stop=options.stop)
    if answer.broker is None:
        return replace(unplaced, proven=unplaced.proven or answer.proven)
    costs = _costs(demand, answer.broker, answer.tree)
    found = SearchResult(answer.broker, costs, "ilp", tree=answer.tree)
    return Answer(found, Bound(0, answer.bound), {})


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
        load=wiring_of(demand, found.broker).load,
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
        "most_load": int(wiring_of(demand, found.broker).load.max(initial=0)),
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
