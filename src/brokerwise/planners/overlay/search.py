"""From demand to the best wiring that an algorithm finds, and what it must cost."""

from dataclasses import dataclass, replace

from brokerwise.model.arrays import Int32s
from brokerwise.planners.overlay.bound import Bound, lower_bound
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.evaluate import Costs, access_cost, costs_of
from brokerwise.planners.overlay.heuristics import BY_NAME, HEURISTICS
from brokerwise.planners.overlay.ilp import solve_ilp
from brokerwise.planners.overlay.local import Found, local
from brokerwise.planners.overlay.options import Options
from brokerwise.planners.overlay.placing import Unplaced, with_idle_users
from brokerwise.planners.overlay.prices import Prices, find_prices, priced
from brokerwise.planners.overlay.tree import spanning_tree
from brokerwise.planners.overlay.tree_local import TreeEvaluation

_ROUNDS = 600  # of the search for prices of brokers


@dataclass(frozen=True, eq=False)
class Answer:
    """What was found, what any wiring costs at least, and what the algorithms that
    ran on the way give, by name."""

    found: Found
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
        found = Found(broker, costs[options.algorithm], options.algorithm, tree=tree)
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
    demand: Demand, options: Options, found: Found, bound: Bound
) -> tuple[Found, Bound]:
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
    found = Found(answer.broker, costs, "ilp", tree=answer.tree)
    return Answer(found, Bound(0, answer.bound), {})
