"""From demand to the fewest brokers that an algorithm finds, and what is proven."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from brokerwise.model.arrays import Int32s
from brokerwise.planners.colocate.bound import counted, pairwise
from brokerwise.planners.colocate.columns.choosing import fewer, rows_of
from brokerwise.planners.colocate.columns.classes import Classes
from brokerwise.planners.colocate.columns.relaxation import Relaxation
from brokerwise.planners.colocate.columns.rounded import rounded_bound
from brokerwise.planners.colocate.emptying import Emptying
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.first_fit import Packing, ffd
from brokerwise.planners.colocate.largest import Effort, hybrid, lfs
from brokerwise.planners.colocate.options import Options
from brokerwise.planners.colocate.pairs import paired
from brokerwise.planners.colocate.problem import Problem
from brokerwise.planners.colocate.spreading import (
    fewest_by_spreading,
    spread,
    tightness,
)

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
