"""The linear program that chooses among patterns, solved by HiGHS."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.planners.control import Stop
from brokerwise.planners.fill.columns.supply import Pattern, Supply
from brokerwise.planners.fill.problem import Demand
from brokerwise.planners.highs import run, silent

Step = tuple[tuple[int, ...], int]
"""(topics, n): how many brokers have at least n pairs of a topic, over all of these."""

Limits = Mapping[Step, tuple[int, int]]
"""The least and the most number of brokers for some steps."""

PENALTY = 20
"""For each broker that a step falls short of its least: times all value."""


@dataclass(frozen=True, eq=False)
class Solution:
    """An optimum of the master.

    Attributes
    ----------
    value
        What the chosen shares of patterns deliver.
    worth
        What one more pair of each topic in patterns would be worth.
    fees
        What one more broker of each limited step would take away.
    tolls
        What one more unit of each resource would be worth.
    shares
        Of each pattern, in the order they came.
    """

    value: float
    worth: Float64s
    tolls: Float64s
    fees: Mapping[Step, float]
    shares: Float64s


class Master:
    """Maximise the value of served pairs over shares of patterns.

    Topics without a pair left are not in it, nor in its patterns. Rows: the pairs of a
    topic that are served are at most those in patterns; patterns
    use no more than the supply; limited steps stay within their limits, for a penalty
    that makes it always feasible.
    """

    def __init__(self, demand: Demand, left: Int64s, supply: Supply) -> None:
        """`left` is how many pairs of each class there are."""
        self._rates, self._supply = demand.rates, supply
        self.patterns: list[Pattern] = []
        self._known: set[tuple[int, bytes, bytes]] = set()
        self._rows: dict[Step, int] = {}
        self._steps: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._carrying: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._penalised: set[Step] = set()
        self._limits: dict[Step, tuple[int, int]] = {}
        self._penalty = PENALTY * float(demand.total)
        self._columns: list[int] = []  # of the patterns
        # Presolve would lose the basis of the solve before.
        self._highs = silent(presolve="off", solver="simplex")
        there = np.flatnonzero(left)  # classes
        self._topics = np.unique(demand.topic[there])  # with a row, in its order
        self._row = np.full(demand.topics, -1, np.int64)
        self._row[self._topics] = np.arange(len(self._topics))
        resources = supply.resources.astype(np.float64)
        _add_rows(self._highs, np.concatenate([np.zeros(len(self._topics)), resources]))
        count = len(there)
        self._highs.addCols(
            count,
            demand.value[there].astype(np.float64),
            np.zeros(count),
            left[there].astype(np.float64),
            count,
            np.arange(count, dtype=np.int32),
            self._row[demand.topic[there]].astype(np.int32),
            np.ones(count),
        )
        self._highs.changeObjectiveSense(highspy.ObjSense.kMaximize)

    @property
    def rows(self) -> int:
        return len(self._topics) + len(self._supply.resources) + len(self._rows)

    def add(self, patterns: Iterable[Pattern]) -> int:
        """Add those that are new; returns how many."""
        new = []
        for pattern in patterns:
            if len(pattern.topic) and pattern.key not in self._known:
                self._known.add(pattern.key)
                new.append(pattern)
        if new:
            self._append(new)
        return len(new)

    def limit(self, limits: Limits) -> None:
        """Hold steps within these limits, and no others."""
        new = [step for step in limits if step not in self._rows]
        if new:
            self._add_steps(new)
        for step, (least, _) in limits.items():
            if least > 0 and step not in self._penalised:
                self._penalise(step)
        changed = {
            step: limits.get(step, (0, -1))
            for step in {*limits, *self._limits}
            if limits.get(step) != self._limits.get(step)
        }
        for step, (least, most) in changed.items():
            upper = highspy.kHighsInf if most < 0 else float(most)
            self._highs.changeRowBounds(self._rows[step], float(least), upper)
        self._limits = dict(limits)

    def solve(self) -> Solution:
        self._highs.run()
        found = self._highs.getSolution()
        duals, values = np.array(found.row_dual), np.array(found.col_value)
        topics, resources = len(self._topics), len(self._supply.resources)
        worth = np.zeros(len(self._rates))
        worth[self._topics] = duals[:topics]
        return Solution(
            self._highs.getInfo().objective_function_value,
            worth,
            duals[topics : topics + resources],
            {step: float(duals[self._rows[step]]) for step in self._limits},
            values[self._columns],
        )

    def choose(self, begin: Sequence[Pattern], asks: int, stop: Stop) -> Int64s | None:
        """How many times each pattern is used by the best plan that a search of so
        many asks finds; begins with a plan of patterns that are there."""
        highs, count = self._highs, len(self.patterns)
        whole = np.full(count, highspy.HighsVarType.kInteger)
        highs.changeColsIntegrality(count, np.array(self._columns, np.int32), whole)
        highs.setOptionValue("presolve", "on")
        numbers = {pattern.key: n for n, pattern in enumerate(self.patterns)}
        used = np.array([numbers[p.key] for p in begin if len(p.topic)], np.int64)
        times = np.bincount(used, minlength=count).astype(np.float64)
        highs.setSolution(count, np.array(self._columns, np.int32), times)
        run(highs, stop, asks)
        found = highs.getSolution()
        if not found.value_valid:
            return None
        shares = np.array(found.col_value)[self._columns]
        whole_shares: Int64s = np.rint(shares).astype(np.int64)
        return whole_shares

    def _append(self, patterns: list[Pattern]) -> None:
        starts: list[int] = [0]
        rows: list[Any] = []
        values: list[Any] = []
        for pattern in patterns:
            resource = self._supply.resource(pattern)
            steps = self._steps_of(pattern)
            rows += [self._row[pattern.topic], [len(self._topics) + resource]]
            rows.append(list(steps))
            use = self._supply.use(pattern, self._rates)
            values += [-pattern.pairs, [use], list(steps.values())]
            starts.append(starts[-1] + len(pattern.topic) + 1 + len(steps))
        self._add_columns(len(patterns), 0.0, starts, rows, values)
        first = self._highs.getNumCol() - len(patterns)
        self._columns += range(first, first + len(patterns))
        self.patterns += patterns
        for column, pattern in enumerate(patterns, first):
            for topic, pairs in pattern.entries():
                self._carrying[topic].append((column, pairs))

    def _steps_of(self, pattern: Pattern) -> dict[int, int]:
        """How often a pattern takes each step, by the step's row."""
        taken: dict[int, int] = {}
        if self._steps:
            for topic, has in pattern.entries():
                for pairs, row in self._steps.get(topic, ()):
                    if has >= pairs:
                        taken[row] = taken.get(row, 0) + 1
        return taken

    def _add_steps(self, steps: list[Step]) -> None:
        """A row for each step, with all patterns known so far."""
        first = self._highs.getNumRow()
        taken = [
            Counter(
                column
                for topic in topics
                for column, has in self._carrying[topic]
                if has >= pairs
            )
            for topics, pairs in steps
        ]
        lengths = [len(found) for found in taken]
        self._highs.addRows(
            len(steps),
            np.zeros(len(steps)),
            np.full(len(steps), highspy.kHighsInf),
            sum(lengths),
            (np.cumsum(lengths) - lengths).astype(np.int32),
            np.array([column for found in taken for column in found], np.int32),
            np.array([n for found in taken for n in found.values()], np.float64),
        )
        for row, (topics, pairs) in enumerate(steps, first):
            self._rows[topics, pairs] = row
            for topic in topics:
                self._steps[topic].append((pairs, row))

    def _penalise(self, step: Step) -> None:
        """Let a step fall short of its least number of brokers, at a price."""
        self._penalised.add(step)
        self._add_columns(1, -self._penalty, [0, 1], [[self._rows[step]]], [[1]])

    def _add_columns(
        self,
        count: int,
        cost: float,
        starts: list[int],
        rows: list[Any],
        values: list[Any],
    ) -> None:
        self._highs.addCols(
            count,
            np.full(count, cost),
            np.zeros(count),
            np.full(count, highspy.kHighsInf),
            starts[-1],
            np.array(starts[:-1], np.int32),
            np.concatenate(rows).astype(np.int32),
            np.concatenate(values).astype(np.float64),
        )


def _add_rows(highs: highspy.Highs, upper: Float64s) -> None:
    count = len(upper)
    highs.addRows(
        count,
        np.full(count, -highspy.kHighsInf),
        upper,
        0,
        np.zeros(count, np.int32),
        np.zeros(0, np.int32),
        np.zeros(0),
    )
