"""Branch and bound on how many brokers carry a topic."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor

from brokerwise.planners.fill.columns.case import Case
from brokerwise.planners.fill.columns.master import Limits, Step
from brokerwise.planners.fill.columns.relaxation import ROUNDING, Relaxation, Relaxed
from brokerwise.planners.fill.columns.supply import Pattern

_TRIED = 12  # steps that are probed before the relaxation is solved again
_TRIAL_ROUNDS = 4
_ANY = (0, -1)

_Sides = tuple[tuple[int, Limits], tuple[int, Limits]]
"""The bounds and limits of both sides of a split."""


@dataclass(order=True)
class _Node:
    """Plans within some limits; none of them exceeds the bound."""

    falling_bound: int
    number: int
    limits: Limits = field(compare=False)

    @property
    def bound(self) -> int:
        return -self.falling_bound


class Branching:
    """Splits plans by how many brokers have a topic, or at least so many pairs of it.

    A broker that carries part of a topic pays for all of its input, which relaxations
    pay in part: they split topics a little, plans cannot. So most halves of a split
    are soon proven to hold nothing better, and the bound falls.
    """

    def __init__(self, case: Case, root: Relaxed) -> None:
        self._case = case
        self._relaxation = Relaxation(
            case.demand,
            case.demand.pairs,
            case.supply,
            case.pricer,
            case.effort,
            root.patterns,
        )
        self._open = [_Node(-case.bound, 0, {})]
        self._nodes = 1
        self._unsettled = 0  # the largest bound of nodes that cannot be split

    @property
    def patterns(self) -> list[Pattern]:
        """All that were generated so far."""
        return self._relaxation.master.patterns

    def advance(self) -> bool:
        """Split the most promising node; whether there was one."""
        case = self._case
        if not self._open or case.done:
            return False
        node = heapq.heappop(self._open)
        if node.bound > case.best.value:
            self._expand(node)
        self._settle()
        return True

    def _settle(self) -> None:
        case = self._case
        reached = [case.best.value, self._unsettled]
        reached += [self._open[0].bound] if self._open else []
        case.bound = min(case.bound, max(reached))

    def _expand(self, node: _Node) -> None:
        case, limits, bound = self._case, dict(node.limits), node.bound
        while True:
            relaxed = self._solve(limits)
            bound = min(bound, relaxed.bound)
            if bound <= case.best.value:
                return
            if case.effort.over:
                self._push(bound, limits)
                return
            steps = _fractional(relaxed, limits, case.groups)
            if not steps:
                self._unsettled = max(self._unsettled, bound)
                return
            tightened, bound = self._probe(limits, bound, steps)
            if bound <= case.best.value or not tightened:
                return

    def _probe(
        self,
        limits: dict[Step, tuple[int, int]],
        bound: int,
        steps: list[tuple[Step, float]],
    ) -> tuple[bool, int]:
        """Tighten limits where one side holds nothing better; else split at the step
        where both sides' bounds fall the most.

        Returns whether limits were tightened, and the bound if so.
        """
        case = self._case
        tightened = False
        splits: list[tuple[tuple[int, int], _Sides]] = []
        for step, amount in steps[:_TRIED]:
            down, up = _sides(limits, step, floor(amount + ROUNDING))
            low, high = self._tried(down, bound), self._tried(up, bound)
            value = case.best.value
            if case.effort.over:
                self._push(bound, limits)
                return False, bound
            if low <= value and high <= value:
                return True, value
            if low <= value or high <= value:
                limits[step] = (up if low <= value else down)[step]
                bound = high if low <= value else low
                tightened = True
                continue
            fall = (max(low, high), min(low, high))
            splits.append((fall, ((low, down), (high, up))))
        if tightened:
            return True, bound
        _, sides = min(splits, key=lambda split: split[0])
        for side_bound, side in sides:
            self._push(side_bound, side)
        return False, bound

    def _solve(self, limits: Limits) -> Relaxed:
        before = len(self.patterns)
        relaxed = self._relaxation.solve(limits, self._case.best.offer)
        self._case.generated += len(self.patterns) - before
        return relaxed

    def _tried(self, limits: Limits, bound: int) -> int:
        """What plans within these limits can reach, as far as a few rounds prove."""
        relaxed = self._relaxation.solve(
            limits, self._case.best.offer, _TRIAL_ROUNDS, trial=True
        )
        return min(bound, relaxed.bound)

    def _push(self, bound: int, limits: Limits) -> None:
        heapq.heappush(self._open, _Node(-bound, self._nodes, dict(limits)))
        self._nodes += 1


def _sides(
    limits: Limits, step: Step, amount: int
) -> tuple[dict[Step, tuple[int, int]], dict[Step, tuple[int, int]]]:
    """At most so many brokers, and more."""
    least, most = limits.get(step, _ANY)
    return {**limits, step: (least, amount)}, {**limits, step: (amount + 1, most)}


def _fractional(
    relaxed: Relaxed, limits: Limits, groups: Sequence[tuple[int, ...]]
) -> list[tuple[Step, float]]:
    """Steps that are taken a broken number of times within their limits, the most
    uncertain first.

    Topics that differ in nothing are counted together first: one of them can stand in
    for another, so limits on a single one prove little.
    """
    counts = _counts(relaxed)
    single = [(topic,) for topic in counts]
    for every in (False, True):
        for some in (groups, single):
            steps = [
                (step, amount)
                for step, amount in _amounts(some, counts, every=every)
                if _open(amount, limits.get(step, _ANY))
            ]
            if steps:
                return sorted(steps, key=lambda s: (-_uncertainty(s[1]), s[0]))
    return []


def _counts(relaxed: Relaxed) -> dict[int, dict[int, float]]:
    """For each topic, how many brokers have just so many pairs of it, by shares."""
    counts: dict[int, dict[int, float]] = {}
    for pattern, share in relaxed.chosen():
        for topic, pairs in pattern.entries():
            by_pairs = counts.setdefault(topic, {})
            by_pairs[pairs] = by_pairs.get(pairs, 0.0) + share
    return counts


def _amounts(
    groups: Iterable[tuple[int, ...]],
    counts: Mapping[int, Mapping[int, float]],
    *,
    every: bool,
) -> Iterator[tuple[Step, float]]:
    """How often groups take their first step, or every one of them."""
    for topics in groups:
        by_pairs: Counter[int] = Counter()
        for topic in topics:
            by_pairs.update(counts.get(topic, {}))
        total = 0.0
        for pairs in sorted(by_pairs, reverse=True):
            total += by_pairs[pairs]
            if every:
                yield (topics, pairs), total
        if not every and by_pairs:
            yield (topics, 1), total


def _open(amount: float, limits: tuple[int, int]) -> bool:
    """Whether an amount is broken, and both numbers beside it are within limits."""
    least, most = limits
    below = floor(amount + ROUNDING)
    broken = abs(amount - round(amount)) > ROUNDING
    return broken and below >= least and (most < 0 or below < most)


def _uncertainty(amount: float) -> float:
    return min(amount - floor(amount), floor(amount) + 1 - amount)
