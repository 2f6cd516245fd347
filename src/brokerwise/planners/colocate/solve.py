"""Topics on as few brokers as possible: from a problem to a plan."""

from typing import Any

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.model.colocation import ColocationPlan, Replicas
from brokerwise.model.plan import Status
from brokerwise.planners.colocate.alone import misses, replicas_needed
from brokerwise.planners.colocate.demand import Demand
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.first_fit import Packing, descending
from brokerwise.planners.colocate.naming import refuse_taken_names
from brokerwise.planners.colocate.options import Options
from brokerwise.planners.colocate.problem import Problem
from brokerwise.planners.colocate.refusing import Refusal, refusal
from brokerwise.planners.colocate.repairing import moves_of, packing_now, repair
from brokerwise.planners.colocate.search import Outcome, Run

REPAIR = "repair"


def solve(
    problem: Problem, options: Options, current: Replicas | None = None
) -> ColocationPlan:
    """The fewest brokers found, with a proven bound; or, where topics have brokers
    already (`current`), those brokers with as few moves as possible.

    Infeasible if a topic misses its target on a broker of its own and may not be
    split, or would also miss it if it were: the reason says so with numbers, and
    `remedy` what would help. Same problem and options, same plan, unless `stop` ended
    it. Raises InputError if a replica would be called like another topic.
    """
    with options.stage("alone"):
        replicas, refused = _cut(problem, options, current)
    if refused:
        return _infeasible(problem, options, refusal(problem, refused))
    refuse_taken_names(problem.topics.names, replicas)
    oracle = Oracle(problem, Demand.of(problem, replicas))
    order = descending(oracle, list(problem.topics.names))
    run = Run(problem, oracle, order, options)
    if current is None:
        return _plan(run, options.algorithm, run.outcome())
    with options.stage("repair"):
        repaired = repair(oracle, packing_now(oracle.demand, current))
    found = run.proven(Outcome(repaired.packing))
    moves = moves_of(oracle.demand, current, repaired)
    return _plan(run, REPAIR, found, moves=moves)


def _plan(run: Run, algorithm: str, found: Outcome, **more: Any) -> ColocationPlan:
    brokers, problem, options = len(found.packing), run.problem, run.options
    return ColocationPlan(
        algorithm=algorithm,
        status=Status.OPTIMAL if brokers == found.bound else Status.FEASIBLE,
        objective=brokers,
        bound=found.bound,
        replicas=replicas_of(run.oracle, found.packing),
        k=problem.k,
        margin=problem.margin,
        figures={**_figures(run.oracle, found), **more},
        options=_chosen(options, algorithm, found.stopped),
        seed=options.seed,
    )


def replicas_of(oracle: Oracle, packing: Packing) -> Replicas:
    """Where replicas are, and what the model predicts for each there."""
    demand = oracle.demand
    broker = np.empty(len(demand), np.int32)
    predicted = np.empty(len(demand))
    for size in sorted({len(members) for members in packing}):
        of_size = [b for b, members in enumerate(packing) if len(members) == size]
        sets = np.array([sorted(packing[b]) for b in of_size], np.int32)
        broker[sets] = np.array(of_size)[:, None]
        predicted[sets] = oracle.p90_ms(sets)
    return Replicas(
        demand.topic, demand.number, broker, demand.rate_per_second, predicted
    )


def _cut(
    problem: Problem, options: Options, current: Replicas | None
) -> tuple[Int64s, list[int]]:
    """How many replicas each topic has, and the topics that rule out a plan. What is
    cut already stays so."""
    replicas = np.ones(len(problem.topics), np.int64)
    if current is not None:
        np.maximum.at(replicas, current.topic, current.number + 1)
    missing = misses(problem, replicas)
    if not options.split:
        return replicas, missing.tolist()
    needed = replicas_needed(problem, missing)
    replicas[missing] = np.maximum(needed, replicas[missing])
    return replicas, missing[needed == 0].tolist()


def _figures(oracle: Oracle, found: Outcome) -> dict[str, Any]:
    demand = oracle.demand
    return {
        "brokers": len(found.packing),
        "load": float(demand.load.sum()),
        "topics": len(np.unique(demand.topic)),
        "replicas": len(demand),
        "split": len(np.unique(demand.topic[demand.number > 0])),
        "bounds": found.bounds,
        **found.others,
        "predicted": oracle.predicted,
        "agreed": oracle.agreed,
        "contradicted": oracle.contradicted,
        "monotone": oracle.monotone,
    }


def _chosen(options: Options, algorithm: str, stopped: str = "") -> dict[str, Any]:
    chosen: dict[str, Any] = {"algorithm": algorithm, "split": options.split}
    if algorithm in ("hybrid", "search"):
        chosen["open"] = options.open
    stopped = "time" if options.stop() else stopped
    return chosen | ({"stopped": stopped} if stopped else {})


def _infeasible(problem: Problem, options: Options, found: Refusal) -> ColocationPlan:
    nothing = np.zeros(0, np.int32)
    return ColocationPlan(
        algorithm=options.algorithm,
        status=Status.INFEASIBLE,
        objective=None,
        bound=None,
        replicas=Replicas(nothing, nothing, nothing, np.zeros(0), np.zeros(0)),
        k=problem.k,
        margin=problem.margin,
        options=_chosen(options, options.algorithm),
        seed=options.seed,
        reason=found.reason,
        remedy=found.remedy,
    )
