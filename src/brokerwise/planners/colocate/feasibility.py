"""Which replicas may share a broker: by what was observed, and by the word of the
model, which is asked once about each set.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.colocate import FREE, NO, YES, Verdicts, claim, refute
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s
from brokerwise.planners.colocate.problem import Demand, Observation, Problem

_FIRST = 1 << 10  # slots

_ROWS_AT_ONCE = 200_000  # topics of sets that one prediction is asked for


@dataclass(frozen=True, eq=False)
class ObservedSets:
    """Observed sets, by kind of replica.

    `of[kind]` are the numbers of the sets that a kind counts for, then -1; `sizes`
    are the sets' sizes. No set of kinds that is asked about has a topic twice.
    """

    of: Int64s
    sizes: Int64s

    @classmethod
    def missed(cls, demand: Demand, seen: Sequence[Observation]) -> "ObservedSets":
        """A replica stands for a topic that was seen at its rate or a lower one."""
        return cls._of(demand, seen, lambda rate, then: rate >= then)

    @classmethod
    def met(cls, demand: Demand, seen: Sequence[Observation]) -> "ObservedSets":
        """A replica stands for a topic that was seen at its rate or a higher one."""
        return cls._of(demand, seen, lambda rate, then: rate <= then)

    @classmethod
    def _of(
        cls,
        demand: Demand,
        seen: Sequence[Observation],
        counts: Callable[[float, float], bool],
    ) -> "ObservedSets":
        lists: list[list[int]] = [[] for _ in range(demand.kinds)]
        kinds, first = np.unique(demand.kind, return_index=True)
        by_topic: dict[int, list[tuple[int, float]]] = {}
        for kind, at in zip(kinds.tolist(), first.tolist(), strict=True):
            row = (kind, float(demand.rate_per_second[at]))
            by_topic.setdefault(int(demand.topic[at]), []).append(row)
        for number, one in enumerate(seen):
            for topic, then in zip(one.topics, one.rates, strict=True):
                for kind, rate in by_topic.get(topic, ()):
                    if counts(rate, then):
                        lists[kind].append(number)
        width = max(map(len, lists), default=0)
        of = np.full((len(lists), width), -1)
        for kind, numbers in enumerate(lists):
            of[kind, : len(numbers)] = numbers
        return cls(of, np.array([len(one.topics) for one in seen], np.int64))

    def within_one(self, sets: Int32s) -> Bools:
        """Whether all kinds of a set count for one and the same observed set."""
        return self._counted(sets, lambda number, here: here == sets.shape[1])

    def holds_one(self, sets: Int32s) -> Bools:
        """Whether a set has kinds for every topic of some observed set."""
        return self._counted(sets, lambda number, here: here == self.sizes[number])

    def _counted(
        self, sets: Int32s, enough: Callable[[Int64s, Int64s], Bools]
    ) -> Bools:
        found = np.zeros(len(sets), np.bool_)
        if not len(self.sizes):
            return found
        numbers = self.of[sets]  # sets, topics, observed sets
        for column in range(sets.shape[1]):
            for place in range(numbers.shape[2]):
                number = numbers[:, column, place]
                here = (numbers == number[:, None, None]).any(axis=2).sum(axis=1)
                found |= (number >= 0) & enough(number, here)
        return found


class VerdictTable:
    """Verdicts on sets of `size` numbers each, by the sorted set."""

    def __init__(self, size: int) -> None:
        self._keys = np.zeros((_FIRST, size), np.int32)
        self._verdicts: Verdicts = np.zeros(_FIRST, np.int8)
        self._known = 0

    def look_up(self, rows: Int32s, judge: Callable[[Int32s], Bools]) -> Bools:
        """The verdict on each row; `judge` is asked for those that are new, once."""
        self._make_room(len(rows))
        slots = np.empty(len(rows), np.int64)
        fresh = np.empty(len(rows), np.int64)
        new = claim(self._keys, self._verdicts, rows, slots, fresh)
        if new:
            first = fresh[:new]
            verdicts = judge(rows[first])
            self._verdicts[slots[first]] = np.where(verdicts, YES, NO)
            self._known += new
        found: Bools = self._verdicts[slots] == YES
        return found

    def refuted(self, rows: Int32s) -> Bools:
        """Whether a part of each row, of which these are one longer, is refused."""
        found = np.zeros(len(rows), np.bool_)
        refute(self._keys, self._verdicts, rows, found)
        return found

    def __len__(self) -> int:
        return self._known

    def _make_room(self, rows: int) -> None:
        """At most half of the slots are taken, even if all rows are new."""
        need = 2 * (self._known + rows)
        if need <= len(self._verdicts):
            return
        used = self._verdicts != FREE
        keys, verdicts = self._keys[used], self._verdicts[used]
        slots = 1 << (need - 1).bit_length()
        self._keys = np.zeros((slots, keys.shape[1]), np.int32)
        self._verdicts = np.zeros(slots, np.int8)
        at = np.empty(len(keys), np.int64)
        claim(self._keys, self._verdicts, keys, at, np.empty(len(keys), np.int64))
        self._verdicts[at] = verdicts


class Oracle:
    """Says which sets of replicas are feasible; asks the model in batches, once each.

    A set is feasible if the model predicts each of its topics to stay within its
    limit, here and in every subset. So what is feasible stays so when a topic leaves,
    also by the word of a model that does not know that. A set that was seen to miss,
    and what holds it, is infeasible; a set that was seen to meet its targets counts
    as predicted to do so. Two replicas of one topic never share a broker.

    Sets are rows of numbers of replicas, all of one length.

    Attributes
    ----------
    predicted, rows
        Sets that the model was asked about, and topics in them: the work done.
    monotone, plain
        Whether the model is monotone; and whether, nothing having been observed, what
        refuses a replica also refuses any that is heavier.
    agreed, contradicted
        Sets that the model calls feasible, and those among them with a subset that it
        does not. None are contradicted by a model that is monotone.
    """

    def __init__(self, problem: Problem, demand: Demand) -> None:
        self.demand = demand
        self.k = problem.k
        self.monotone = bool(getattr(problem.predictor, "monotone", False))
        self.plain = self.monotone and not (problem.missed or problem.met)
        self.predicted = self.rows = self.agreed = self.contradicted = 0
        self._predictor = problem.predictor
        self._missed = ObservedSets.missed(demand, problem.missed)
        self._met = ObservedSets.met(demand, problem.met)
        self._kept: dict[int, VerdictTable] = {}
        self._of_kind = _first_of_each(demand.kind)

    def feasible(self, sets: Int32s) -> Bools:
        """Whether each set may share a broker; none of more than `k` may."""
        if sets.shape[1] > self.k:
            return np.zeros(len(sets), np.bool_)
        kinds = np.sort(self.demand.kind[sets], axis=1)
        if not self.demand.split:
            return self._judged(kinds)
        found = self._apart(sets)
        found[found] = self._judged(kinds[found])
        return found

    def of_kinds(self, kinds: Int32s) -> Bools:
        """The same for replicas of these kinds, whichever, but of different topics."""
        return self._judged(np.sort(kinds, axis=1))

    def joins(self, members: Int32s, others: Int32s) -> Bools:
        """Whether each of the others may join these members, alone of them."""
        sets = np.empty((len(others), len(members) + 1), np.int32)
        sets[:, :-1], sets[:, -1] = members, others
        return self.feasible(sets)

    def p90_ms(self, sets: Int32s) -> Float64s:
        """What the model predicts for each replica of each set."""
        demand, size = self.demand, max(1, sets.shape[1])
        found = np.empty(sets.shape)
        for first in range(0, len(sets), max(1, _ROWS_AT_ONCE // size)):
            some = sets[first : first + max(1, _ROWS_AT_ONCE // size)]
            found[first : first + len(some)] = self._predictor.p90_ms(
                demand.processing_ms[some], demand.rate_per_second[some]
            )
        self.predicted += len(sets)
        self.rows += sets.size
        return found

    def alone_ms(self) -> Float64s:
        """What the model predicts for each replica on a broker of its own."""
        of_kind = self.p90_ms(self._of_kind[:, None])[:, 0]
        return of_kind[self.demand.kind]

    def _apart(self, sets: Int32s) -> Bools:
        topics = np.sort(self.demand.topic[sets], axis=1)
        apart: Bools = (topics[:, 1:] != topics[:, :-1]).all(axis=1)
        return apart

    def _judged(self, kinds: Int32s) -> Bools:
        size = kinds.shape[1]
        if size == 0:
            return np.ones(len(kinds), np.bool_)
        if size not in self._kept:
            self._kept[size] = VerdictTable(size)
        return self._kept[size].look_up(kinds, self._judge)

    def _judge(self, kinds: Int32s) -> Bools:
        """Sets that were not asked about before."""
        shorter = self._kept.get(kinds.shape[1] - 1)
        found = np.ones(len(kinds), np.bool_)
        if len(self._missed.sizes):
            found = ~self._missed.holds_one(kinds)
        if shorter is not None:
            found &= ~shorter.refuted(kinds)
        found[found] = self._said(kinds[found])
        return found

    def _said(self, kinds: Int32s) -> Bools:
        """What the model says of them and, if it must be asked, of their subsets."""
        said = np.zeros(len(kinds), np.bool_)
        if len(self._met.sizes):
            said = self._met.within_one(kinds)
        sets = self._of_kind[kinds[~said]]
        within = self.p90_ms(sets) <= self.demand.limit_ms[sets]
        said[~said] = within.all(axis=1)
        self.agreed += int(said.sum())
        if not self.monotone:
            said[said] = self._agreed(kinds[said])
        return said

    def _agreed(self, kinds: Int32s) -> Bools:
        """Whether all subsets with one kind less are feasible."""
        count, size = kinds.shape
        if size == 1:
            return np.ones(count, np.bool_)
        without = [np.delete(kinds, column, axis=1) for column in range(size)]
        subsets = self._judged(np.concatenate(without)).reshape(size, count)
        agreed = np.asarray(subsets.all(axis=0), np.bool_)
        self.contradicted += count - int(agreed.sum())
        return agreed


def _first_of_each(kind: Int32s) -> Int32s:
    """A replica of each kind."""
    return np.unique(kind, return_index=True)[1].astype(np.int32)
