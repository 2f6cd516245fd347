"""Topics on as few brokers as possible: from a problem to the best packing that an
algorithm finds, what is proven of it, and the plan.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.colocation import ColocationPlan, Replicas, replica_name
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.model.plan import Status
from brokerwise.planners.colocate.alone import Refusal, misses, refusal, replicas_needed
from brokerwise.planners.colocate.bound import counted, pairwise, rounded_bound
from brokerwise.planners.colocate.columns import Relaxation, fewer, rows_of
from brokerwise.planners.colocate.emptying import (
    Emptying,
    fewest_by_spreading,
    spread,
    tightness,
)
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.heuristics import (
    Effort,
    Packing,
    descending,
    ffd,
    hybrid,
    lfs,
    paired,
)
from brokerwise.planners.colocate.problem import Demand, Options, Problem
from brokerwise.planners.colocate.repair import moves_of, packing_now, repair
from brokerwise.planners.colocate.sets import Classes

_SMALL = 100  # replicas for which lfs is tried as well
_ROWS_OF_LFS = 200_000
_LEVELLED = 1_000  # replicas that are spread once more where the number is settled
_MOST_CLASSES = 200  # for the linear program over real sets
_ROWS_OF_COLUMNS = 200_000  # for 100 replicas; more of them may have more
_MORE_ROWS, _MOST_ROWS = 2_000, 3_000_000
_ROWS_OF_GROUPS = 1_200_000
_ROWS_OF_EMPTYING = 200_000
_ROUNDS_OF_EMPTYING = 100
_ASKS = 30  # of HiGHS, for an integer program

REPAIR = "repair"


def refuse_taken_names(names: Names, replicas: Int64s) -> None:
    """InputError if a replica of a topic would be called like a topic: such a plan
    could not run."""
    for at in np.flatnonzero(replicas > 1).tolist():
        topic, count = names[at], int(replicas[at])
        called = [replica_name(topic, number) for number in range(count)]
        taken = next((name for name in called if names.find(name) is not None), None)
        if taken is not None:
            raise InputError(
                f"topic: found {taken!r} beside {topic!r}, which is cut into {count:,} "
                f"replicas called {called[0]!r} to {called[-1]!r} (--split); expected "
                "no topic that is called like one",
                hint=f"Rename topic {taken!r} or topic {topic!r}.",
            )


@dataclass
class Outcome:
    """The best packing so far, and what is known.

    Attributes
    ----------
    bounds
        Brokers that any plan has at least, by what shows it.
    others
        Brokers that the algorithms use that were tried on the way.
    stopped
        What ended an algorithm early: work, time, or nothing.
    """

    packing: Packing
    bounds: dict[str, int] = field(default_factory=dict)
    others: dict[str, int] = field(default_factory=dict)
    stopped: str = ""

    @property
    def bound(self) -> int:
        return max(self.bounds.values(), default=0)

    @property
    def open(self) -> bool:
        """Whether fewer brokers might do."""
        return self.bound < len(self.packing)

    def offer(self, name: str, packing: Packing) -> None:
        """Keep the packing of an algorithm if it is better."""
        self.others[name] = len(packing)
        if len(packing) < len(self.packing):
            self.packing = packing


@dataclass(frozen=True)
class Run:
    """One problem, and how it is to be solved; `order` is descending latency alone."""

    problem: Problem
    oracle: Oracle
    order: Int32s
    options: Options

    def outcome(self) -> Outcome:
        if self.options.algorithm == "search":
            return self._search()
        return self._by_name()

    def _by_name(self) -> Outcome:
        """One of the paper's algorithms, and a bound."""
        name, effort = self.options.algorithm, Effort(stop=self.options.stop)
        with self.options.stage(name):
            found = Outcome(self._algorithms(effort)[name]())
        found.others[name] = len(found.packing)
        found.stopped = effort.stopped
        return self.proven(found)

    def proven(self, found: Outcome) -> Outcome:
        """The same packing, with bounds."""
        with self.options.stage("bound"):
            self._quick_bounds(found)
            self._relax(found, _ROWS_OF_COLUMNS)
            self._round(found)
        return found

    def _algorithms(self, effort: Effort) -> dict[str, Callable[[], Packing]]:
        oracle, order = self.oracle, self.order
        return {
            "ffd": lambda: ffd(oracle, order),
            "hybrid": lambda: hybrid(oracle, order, self.options.open, effort),
            "lfs": lambda: lfs(oracle, order, effort),
        }

    def _search(self) -> Outcome:
        """The best of the others, improved until it is proven or the work is done."""
        options = self.options
        with options.stage("starts"):
            found = self._starts()
        with options.stage("bound"):
            self._quick_bounds(found)
        with options.stage("spread"):
            self._spread(found)
        with options.stage("columns"):
            relaxation = self._relax(found, self._column_rows())
        with options.stage("empty"):
            self._empty(found)
        if relaxation is not None:
            with options.stage("columns"):
                self._choose(found, relaxation)
        with options.stage("round"):
            self._round(found)
        with options.stage("level"):
            self._level(found)
        return found

    def _starts(self) -> Outcome:
        algorithms = self._algorithms(Effort(stop=self.options.stop))
        found = Outcome(algorithms["ffd"]())
        found.others["ffd"] = len(found.packing)
        if self.oracle.k == 2:
            found.offer("matching", paired(self.oracle, self.order))
        found.offer("hybrid", algorithms["hybrid"]())
        if len(self.order) <= _SMALL:
            effort = Effort(_ROWS_OF_LFS, self.options.stop)
            packing = lfs(self.oracle, self.order, effort)
            found.offer("part of lfs" if effort.stopped else "lfs", packing)
        return found

    def _quick_bounds(self, found: Outcome) -> None:
        found.bounds |= counted(self.oracle)
        if found.open:
            found.bounds |= pairwise(self.oracle)

    def _spread(self, found: Outcome) -> None:
        if found.open and not self.options.stop():
            most = len(found.packing) - 1
            packing = fewest_by_spreading(self.oracle, found.bound, most)
            if packing is not None:
                found.offer("spread", packing)

    def _empty(self, found: Outcome) -> None:
        if not found.open:
            return
        rng = np.random.default_rng(self.options.seed)
        work = Emptying(self.oracle, found.packing, rng)
        rows = self.oracle.rows + _ROWS_OF_EMPTYING
        work.run(found.bound, rows, _ROUNDS_OF_EMPTYING, self.options.stop)
        found.offer("empty", work.packing)

    def _level(self, found: Outcome) -> None:
        """As many brokers, with more room below the targets if spreading gives it."""
        if len(self.order) > _LEVELLED or self.options.stop():
            return
        level = spread(self.oracle, len(found.packing))
        if level is None:
            return
        if tightness(self.oracle, level) < tightness(self.oracle, found.packing):
            found.packing = level

    def _relax(self, found: Outcome, rows_allowed: int) -> Relaxation | None:
        """The bound of the linear program over real sets, if there are few classes."""
        classes = Classes.among(self.oracle)
        if not found.open or len(classes) > _MOST_CLASSES:
            return None
        rows = rows_of(found.packing, classes, self.oracle.k)
        relaxation = Relaxation.of(self.oracle, classes, rows)
        most_rows = self.oracle.rows + rows_allowed
        relaxation.improve(len(found.packing), most_rows, self.options.stop)
        if relaxation.bound:
            found.bounds["columns"] = relaxation.bound
        return relaxation

    def _choose(self, found: Outcome, relaxation: Relaxation) -> None:
        """Sets in whole numbers: one broker less, as long as that can be done."""
        while found.open and not self.options.stop():
            most = len(found.packing) - 1
            rows = self.oracle.rows + self._column_rows()
            less = fewer(relaxation, most, rows, _ASKS, self.options.stop)
            if less.impossible:
                found.bounds["exact"] = most + 1
            if less.packing is None:
                return
            found.offer("columns", less.packing)

    def _column_rows(self) -> int:
        more = _MORE_ROWS * max(0, len(self.order) - 100)
        return min(_ROWS_OF_COLUMNS + more, _MOST_ROWS)

    def _round(self, found: Outcome) -> None:
        """The bound by topics rounded down, for a model that is monotone."""
        if found.open and self.oracle.monotone and not self.problem.met:
            found.bounds["groups"] = rounded_bound(
                self.problem,
                self.oracle.demand,
                len(found.packing),
                _ROWS_OF_GROUPS,
                self.options.stop,
            )


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
