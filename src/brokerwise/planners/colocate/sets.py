"""Feasible sets of replicas that are worth more than a threshold, all of them or the
best.

Replicas that can stand in for each other are one class. For a model that is monotone
they are in lines from light to heavy: what cannot join a set is followed on its line by
nothing that can.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.problem import Demand

_AT_ONCE = 20_000  # sets that the model is asked about between looks at the budget


@dataclass(frozen=True, eq=False)
class Classes:
    """Kinds of replicas; those of a topic that is split are a class of their own.

    Attributes
    ----------
    of
        The class of each replica.
    first
        A replica of each class.
    number
        How many replicas it has.
    most
        How many of them may share a broker at most.
    """

    of: Int64s
    first: Int32s
    number: Int64s
    most: Int64s

    @classmethod
    def among(cls, oracle: Oracle) -> "Classes":
        demand = oracle.demand
        parts = np.bincount(demand.topic)[demand.topic]
        own = np.where(parts > 1, demand.topic, -1)
        keys = np.column_stack((demand.kind, own))
        _, first, of, number = np.unique(
            keys, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        alone = parts[first] > 1
        return cls(
            of=of.reshape(-1),
            first=first.astype(np.int32),
            number=number,
            most=np.where(alone, 1, np.minimum(number, oracle.k)),
        )

    def members(self) -> list[list[int]]:
        """The replicas of each class, ascending."""
        order = np.argsort(self.of, kind="stable")
        ends = np.cumsum(self.number)
        return [part.tolist() for part in np.split(order, ends[:-1])]

    def __len__(self) -> int:
        return len(self.first)


def chains_of(demand: Demand, replicas: Int32s) -> tuple[Int64s, Int64s]:
    """The line of each of these replicas, and its place there.

    Each is no lighter in any respect than those before it on its line. Greedy: a
    replica joins the line whose end has the highest rate that is not above its own.
    """
    keys = (demand.rate_per_second, -demand.limit_ms, demand.processing_ms)
    order = np.lexsort([key[replicas] for key in keys])
    chain, place = np.empty((2, len(replicas)), np.int64)
    ends: list[tuple[float, float, int]] = []  # rate, limit and length of each line
    for at in order.tolist():
        rate = float(demand.rate_per_second[replicas[at]])
        limit = float(demand.limit_ms[replicas[at]])
        fits = [i for i, end in enumerate(ends) if end[0] <= rate and end[1] >= limit]
        best = max(fits, key=lambda i: ends[i][0], default=len(ends))
        length = ends[best][2] if fits else 0
        ends[best : best + 1] = [(rate, limit, length + 1)]
        chain[at], place[at] = best, length
    return chain, place


def along(line: Int64s, place: Int64s, asked: Callable[[Int64s], Bools]) -> Bools:
    """The answer to each of many questions, of which only some are asked.

    Questions of one line, in order of their places, are answered yes up to some place
    and no from there on: halving what is open finds where. `asked` gives the answers
    to the questions of these numbers.
    """
    order = np.lexsort((place, line))
    sorted_line = line[order]
    starts = np.flatnonzero(np.diff(sorted_line, prepend=-1))
    low, high = starts.copy(), np.append(starts[1:], len(line))
    # Answers before low are yes, those from high on are no.
    while len(open_ := np.flatnonzero(low < high)):
        middle = (low[open_] + high[open_]) // 2
        yes = asked(order[middle])
        low[open_] = np.where(yes, middle + 1, low[open_])
        high[open_] = np.where(yes, high[open_], middle)
    ends = np.repeat(low, np.diff(np.append(starts, len(line))))
    found = np.empty(len(line), np.bool_)
    found[order] = np.arange(len(line)) < ends
    return found


@dataclass(frozen=True, eq=False)
class Sets:
    """Sets of classes, ascending, with how much each is worth; the rest of a row is
    filled up with the number of classes.

    `complete` says that no other feasible set is worth more than the threshold.
    """

    rows: Int32s
    value: Float64s
    complete: bool


@dataclass(frozen=True, eq=False)
class _Level:
    """Feasible sets of one size, by rank of their classes; `run` is how often the
    last one is there."""

    ranks: Int32s
    value: Float64s
    run: Int64s

    def __len__(self) -> int:
        return len(self.value)

    def take(self, which: Int64s | Bools) -> "_Level":
        return _Level(self.ranks[which], self.value[which], self.run[which])


class Enumeration:
    """Looks for sets of at most k classes whose worth exceeds a threshold.

    Goes from sets to sets with one class more, in order of falling worth, so that a
    set is left out when even the most that could follow is worth too little.
    """

    def __init__(
        self, oracle: Oracle, classes: Classes, worth: Float64s, threshold: float
    ) -> None:
        order = np.argsort(-worth, kind="stable")
        self._order = order[worth[order] > 0]
        self._oracle, self._classes = oracle, classes
        self._worth = worth[self._order]
        self._kind = oracle.demand.kind[classes.first[self._order]]
        self._most = classes.most[self._order]
        self._threshold = threshold
        self._chains: tuple[Int64s, Int64s] | None = None
        if oracle.plain:
            self._chains = chains_of(oracle.demand, classes.first[self._order])

    def run(self, width: int, most_rows: int) -> Sets:
        """Of each size the `width` best are pursued; ends once the oracle's rows are
        more than these."""
        level = _Level(np.zeros((1, 0), np.int32), np.zeros(1), np.zeros(1, np.int64))
        found: list[_Level] = []
        complete = True
        for size in range(self._oracle.k):
            children, all_asked = self._children(level, size, most_rows)
            found.append(children.take(children.value > self._threshold))
            level = children
            complete &= all_asked
            if len(level) > width:
                best = np.argsort(-level.value, kind="stable")[:width]
                level, complete = level.take(np.sort(best)), False
        return self._sets(found, complete)

    def _children(
        self, level: _Level, size: int, most_rows: int
    ) -> tuple[_Level, bool]:
        """Feasible sets with one class more, and whether all were asked for."""
        parent, rank = self._candidates(level, size)
        last = level.ranks[parent, -1] if size else np.full(len(parent), -1)
        ranks = np.column_stack((level.ranks[parent], rank)).astype(np.int32)
        feasible, complete = self._asked(ranks, parent, most_rows)
        run = np.where(rank == last, level.run[parent] + 1, 1)
        value = level.value[parent] + self._worth[rank]
        return _Level(ranks, value, run).take(feasible), complete

    def _asked(
        self, ranks: Int32s, parent: Int64s, most_rows: int
    ) -> tuple[Bools, bool]:
        """Which sets are feasible, and whether there was enough work for all: those
        that were not asked about count as infeasible. The last class of each is what
        its parent lacks."""
        complete = True

        def ask(which: Int64s) -> Bools:
            nonlocal complete
            found = np.zeros(len(which), np.bool_)
            for start in range(0, len(which), _AT_ONCE):
                if self._oracle.rows >= most_rows:
                    complete = False
                    break
                some = ranks[which[start : start + _AT_ONCE]]
                kinds = self._kind[some]
                found[start : start + len(some)] = self._oracle.of_kinds(kinds)
            return found

        if self._chains is None:
            return ask(np.arange(len(ranks))), complete
        chain, place = self._chains
        last = ranks[:, -1]
        line = parent * (1 + int(chain.max(initial=0))) + chain[last]
        return along(line, place[last], ask), complete

    def _candidates(self, level: _Level, size: int) -> tuple[Int64s, Int64s]:
        """Parents and ranks of the sets that could still be worth enough."""
        need = (self._threshold - level.value) / (self._oracle.k - size)
        reach = np.searchsorted(-self._worth, -need)  # ranks worth more than need
        first = np.zeros(len(level), np.int64)
        if size:
            last = level.ranks[:, -1].astype(np.int64)
            first = last + (level.run >= self._most[last])
        number = np.maximum(reach - first, 0)
        parent = np.repeat(np.arange(len(level)), number)
        place = np.arange(len(parent)) - np.repeat(np.cumsum(number) - number, number)
        return parent, first[parent] + place

    def _sets(self, found: list[_Level], complete: bool) -> Sets:
        k, padding = self._oracle.k, len(self._classes)
        rows = [np.full((len(level), k), padding, np.int32) for level in found]
        for level, row in zip(found, rows, strict=True):
            row[:, : level.ranks.shape[1]] = self._order[level.ranks]
        every = np.sort(np.concatenate(rows), axis=1)
        value = np.concatenate([level.value for level in found])
        return Sets(every, value, complete)
