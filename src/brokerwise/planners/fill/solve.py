"""The most that a fixed fleet can deliver: from a workload to a plan."""

from dataclasses import dataclass
from math import isinf
from typing import Any

import numpy as np

from brokerwise.kernels.fill_heuristics import select_best
from brokerwise.model.arrays import INT64_MAX, Int64s, read_only
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Bandwidth, BrokerType, Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.load import broker_loads
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status, gap
from brokerwise.model.workload import PLAIN, Weights, Workload
from brokerwise.planners.fill.filling import (
    Filling,
    fill_brokers,
    paper_bound,
    split_bandwidth,
)
from brokerwise.planners.fill.problem import Demand, Draft, Options


@dataclass(frozen=True, eq=False)
class Problem:
    """What is wanted, what may carry it, and how much each pair counts."""

    workload: Workload
    fleet: Fleet | Bandwidth
    weights: Weights = PLAIN

    def __post_init__(self) -> None:
        self.weights.check(self.workload)
        if isinstance(self.fleet, Fleet):
            for kind in self.fleet:
                if kind.count is None:
                    raise InputError(
                        f"count of broker type {kind.name!r}: found none, "
                        "expected how many there are"
                    )


def solve(problem: Problem, options: Options) -> Plan:
    """The most valuable pairs that the fleet can carry, with a proven bound.

    Always feasible: at worst nothing is delivered. A topic that fits nowhere is left
    out and counted in the figure `left_out`. Topics of rate 0 cost nothing and are
    served. Same problem and options, same plan, unless `stop` ended it.
    """
    demand = Demand.of(problem.workload, problem.weights)
    fleet = problem.fleet
    carried, ids = demand.carried(largest_broker(fleet))
    if isinstance(fleet, Bandwidth):
        filling, capacities = split_bandwidth(carried, fleet, options)
        fleet, kinds = _fleet_of(capacities)
    else:
        kinds = np.repeat(
            np.arange(len(fleet.broker_types)), [k.count or 0 for k in fleet]
        )
        capacities = np.array([k.capacity for k in fleet], np.int64)[kinds]
        filling = fill_brokers(carried, capacities, options)
    return _plan(problem, options, demand, ids, filling, fleet, kinds)


def largest_broker(fleet: Fleet | Bandwidth) -> int:
    """What one broker can carry at most."""
    if isinstance(fleet, Bandwidth):
        return min(fleet.max_broker, fleet.total)
    return fleet.largest_capacity


def _fleet_of(capacities: Int64s) -> tuple[Fleet, Int64s]:
    """Brokers of these sizes as a fleet, and the type of each."""
    sizes, kinds, counts = np.unique(
        -capacities, return_inverse=True, return_counts=True
    )
    types = [
        BrokerType(f"broker-{-size}", int(-size), int(count))
        for size, count in zip(sizes, counts, strict=True)
    ]
    return Fleet(tuple(types)), kinds


def _plan(
    problem: Problem,
    options: Options,
    demand: Demand,
    ids: Int64s,
    filling: Filling,
    fleet: Fleet,
    kinds: Int64s,
) -> Plan:
    workload = problem.workload
    draft = _with_silent(demand, _renamed(filling.draft, ids))
    used, broker = np.unique(draft.broker, return_inverse=True)
    order = np.lexsort((broker, draft.topic))
    placement = Placement(
        draft.topic[order], broker[order].astype(np.int32), draft.pairs[order]
    )
    served = draft.served(demand)
    rates, weights = workload.rates, problem.weights
    capacities = np.array([kind.capacity for kind in fleet], np.int64)[kinds[used]]
    loads = broker_loads(
        rates, placement.topic, placement.broker, placement.pairs, len(used)
    )
    return Plan(
        kind="fill",
        algorithm=options.algorithm,
        status=Status.OPTIMAL if filling.value == filling.bound else Status.FEASIBLE,
        objective=filling.value,
        bound=filling.bound,
        fleet=fleet,
        brokers=Brokers(kinds[used].astype(np.int32), capacities, loads),
        selection=_selection(workload, weights, demand, served),
        placement=placement,
        figures=_figures(problem, demand, placement, filling),
        options=_options(problem, options, filling),
        seed=options.seed,
        weights=weights,
    )


def _renamed(draft: Draft, ids: Int64s) -> Draft:
    return Draft(ids[draft.topic].astype(np.int32), draft.broker, draft.pairs)


def _with_silent(demand: Demand, draft: Draft) -> Draft:
    """Also the topics that send nothing, which load no broker: on the first."""
    silent = np.flatnonzero((demand.rates == 0) & (demand.followers > 0))
    return Draft(
        np.concatenate([draft.topic, silent.astype(np.int32)]),
        np.concatenate([draft.broker, np.zeros(len(silent), np.int32)]),
        np.concatenate([draft.pairs, demand.followers[silent]]),
    )


def _selection(
    workload: Workload, weights: Weights, demand: Demand, served: Int64s
) -> Interests:
    """The best `served` pairs of each topic; of equals, those of lower subscribers."""
    interests = workload.interests
    weight = weights.subscribers
    if weight is None:
        weight = read_only(np.ones(workload.subscribers, np.int64))
    chosen = select_best(interests.offsets, interests.topics, weight, served)
    return Interests(*chosen)


def _figures(
    problem: Problem, demand: Demand, placement: Placement, filling: Filling
) -> dict[str, Any]:
    rates = problem.workload.rates
    wanted = int(rates @ demand.followers)
    outgoing = int(rates[placement.topic] @ placement.pairs)
    runs = {"greedy": filling.greedy, "mkp": filling.mkp}
    paper = _paper_bound(problem, demand)
    return {
        "delivered": outgoing,
        "delivered_percent": 100 * outgoing / wanted if wanted else 100.0,
        "wanted": wanted,
        "incoming": int(rates[placement.topic].sum()),
        "outgoing": outgoing,
        "pairs": int(placement.pairs.sum()),
        "bound_paper": paper,
        **_finite_gap(filling.value, paper),
        **{name: value for name, value in runs.items() if value is not None},
        "patterns": filling.patterns,
        "left_out": _left_out(problem, demand),
        **({} if problem.weights.plain else {"weighted_wanted": demand.total}),
    }


def _paper_bound(problem: Problem, demand: Demand) -> int:
    """The paper's bound knows neither sizes of brokers nor topics that fit on none."""
    fleet = problem.fleet
    if isinstance(fleet, Bandwidth):
        total = fleet.total
    else:
        total = sum(kind.capacity * (kind.count or 0) for kind in fleet)
    every, _ = demand.carried(INT64_MAX)
    return paper_bound(every, min(INT64_MAX, total))


def _finite_gap(value: int, paper: int) -> dict[str, float]:
    """The gap to the paper's bound, where that is a number."""
    found = gap(value, paper)
    return {} if found is None or isinf(found) else {"gap_paper": found}


def _left_out(problem: Problem, demand: Demand) -> int:
    """Wanted topics that no broker can carry."""
    return len(fits_nowhere(demand, problem.fleet))


def fits_nowhere(demand: Demand, fleet: Fleet | Bandwidth) -> Int64s:
    """The wanted topics of which no broker can carry a single pair."""
    return np.flatnonzero(
        (demand.rates > largest_broker(fleet) // 2) & (demand.followers > 0)
    )


def _options(problem: Problem, options: Options, filling: Filling) -> dict[str, Any]:
    fleet = problem.fleet
    chosen: dict[str, Any] = {"algorithm": options.algorithm, "bound": options.bound}
    if isinstance(fleet, Bandwidth):
        chosen |= {"total_bandwidth": fleet.total, "max_broker": fleet.max_broker}
    return chosen | ({"stopped": "time"} if filling.stopped else {})
