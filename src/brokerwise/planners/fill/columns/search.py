"""Column generation for brokers of given capacities, or for bandwidth to split: relax,
dive, search nearby, branch, combine.

A dive fixes a pattern, relaxes what is left, and repeats. Branch and bound is on how
many brokers carry a topic.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import floor

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.planners.control import never
from brokerwise.planners.fill.columns.master import Limits, Master, Step
from brokerwise.planners.fill.columns.pricer import Pricer
from brokerwise.planners.fill.columns.relaxation import (
    ROUNDING,
    Case,
    Relaxation,
    RelaxationResult,
    served,
)
from brokerwise.planners.fill.columns.supply import Effort, Pattern, Supply
from brokerwise.planners.fill.problem import Demand, Draft, Options, SearchResult

_KEPT = 300  # patterns that a relaxation hands to the next one

_TRIED = 12  # steps that are probed before the relaxation is solved again
_TRIAL_ROUNDS = 4
_ANY = (0, -1)

_Sides = tuple[tuple[int, Limits], tuple[int, Limits]]
"""The bounds and limits of both sides of a split."""

_BROKERS = 4  # that the first searches nearby fill anew
_PATTERNS = 500  # that are worth being combined
_ASKS = 800  # that the first combination may take
_PATIENCE = 30  # searches in vain before more brokers are filled anew

WORK = 10_000_000_000
"""Steps that a search may take; about ten seconds."""


def combine(case: Case, patterns: Sequence[Pattern], asks: int) -> None:
    """Offer the best plan of these patterns and those of the best plan, as far as a
    search that is limited to `asks` finds it."""
    unique = {p.key: p for p in [*case.best.patterns, *patterns] if len(p.topic)}
    known = list(unique.values())
    master = Master(case.demand, case.demand.pairs, case.supply)
    master.add(known)
    shares = master.choose(case.best.patterns, asks, lambda: case.effort.over)
    if shares is None:
        return
    used = (p for p, times in zip(known, shares, strict=True) for _ in range(times))
    demand = case.demand
    case.best.offer(case.supply.fitting(used, demand.followers, demand.rates))


def dive(
    case: Case,
    fixed: Sequence[Pattern],
    patterns: Sequence[Pattern],
    *,
    split: bool,
    random: np.random.Generator | None = None,
) -> list[Pattern]:
    """Fix patterns one after the other until every broker has one.

    Fixed is what has the largest share, or by chance with `random`. Without `split`
    no topic that fits on a broker goes to two. Every relaxation on the way offers its
    own plans too. Ends early where nothing better can come; returns the patterns
    that were known at the end.
    """
    fixed, known = list(fixed), list(patterns)
    while not case.supply.without(fixed, case.demand.rates).empty and not case.done:
        limits = {} if split else case.unsplit(fixed)
        relaxed = case.relax(fixed, limits, known)
        known = _useful(relaxed)
        if relaxed.bound <= case.best.value or not len(relaxed.solution.shares):
            break
        chosen = _chosen(case, fixed, relaxed, random)
        if not chosen:
            break
        fixed += chosen
        case.best.offer(fixed)
    return known


def search_nearby(
    case: Case, brokers: int, random: np.random.Generator, *, split: bool
) -> bool:
    """Fill some brokers of the best plan anew; whether that made it better."""
    value, patterns = case.best.value, case.best.patterns
    count = min(brokers, len(patterns))
    freed = set(random.choice(len(patterns), count, replace=False).tolist())
    fixed = [p for number, p in enumerate(patterns) if number not in freed]
    dive(case, fixed, [patterns[n] for n in sorted(freed)], split=split, random=random)
    return case.best.value > value


def _chosen(
    case: Case,
    fixed: list[Pattern],
    relaxed: RelaxationResult,
    random: np.random.Generator | None,
) -> list[Pattern]:
    """All patterns with a whole share, or one, as far as they go together."""
    shares = relaxed.solution.shares
    whole = np.flatnonzero(shares > 1 - ROUNDING)
    if not len(whole):
        if random is None:
            whole = np.array([np.argmax(shares)])
        else:
            chance = np.maximum(shares, 0) ** 2
            if not chance.sum() > 0:
                return []
            whole = random.choice(len(shares), 1, p=chance / chance.sum())
    left = case.demand.followers - served(fixed, case.demand.topics)
    rest = case.supply.without(fixed, case.demand.rates)
    patterns = (relaxed.patterns[number] for number in whole)
    return rest.fitting(patterns, left, case.demand.rates)


def _useful(relaxed: RelaxationResult) -> list[Pattern]:
    """Those with a share, and the latest."""
    latest = relaxed.patterns[-_KEPT:]
    keys = {pattern.key for pattern in latest}
    return [*(p for p, _ in relaxed.chosen() if p.key not in keys), *latest]


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
    """Splits plans by how many brokers have a topic, or at least n pairs of it.

    A broker that carries part of a topic pays for all of its input, which relaxations
    pay in part: they split topics a little, plans cannot. So most halves of a split
    are soon proven to hold nothing better, and the bound falls.
    """

    def __init__(self, case: Case, root: RelaxationResult) -> None:
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

    def _solve(self, limits: Limits) -> RelaxationResult:
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
    """At most `amount` brokers, and more."""
    least, most = limits.get(step, _ANY)
    return {**limits, step: (least, amount)}, {**limits, step: (amount + 1, most)}


def _fractional(
    relaxed: RelaxationResult, limits: Limits, groups: Sequence[tuple[int, ...]]
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


def _counts(relaxed: RelaxationResult) -> dict[int, dict[int, float]]:
    """For each topic, how many brokers have each number of pairs of it, by shares."""
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


def search(case: Case, plans: Sequence[Sequence[Pattern]], seed: int) -> None:
    """Improve the best plan and the bound until they meet, or the effort is over.

    Begins with the given plans, so it ends with none that is worse.
    """
    for plan in plans:
        case.best.offer(plan)
    known = [pattern for plan in plans for pattern in plan]
    if case.done:
        return
    root = case.relax([], {}, known)
    case.bound = min(case.bound, root.bound)
    for split in (True, False):
        if not case.done:
            dive(case, [], root.patterns, split=split)
    nearby = _Nearby(case, seed)
    nearby.repeat(_PATIENCE)
    if case.done:
        return
    branching = Branching(case, root)
    enough, rest, asks = _PATTERNS, 0, _ASKS
    while branching.advance():
        rest -= 1
        if rest <= 0:
            nearby.repeat(1)
            rest = nearby.rest
        if len(branching.patterns) > enough and not case.done:
            combine(case, branching.patterns, asks)
            enough, asks = len(branching.patterns) * 3 // 2, 2 * asks
    while not case.done and nearby.useful:
        nearby.repeat(1)


class _Nearby:
    """Searches near the best plan, wider the longer they are in vain."""

    def __init__(self, case: Case, seed: int) -> None:
        self._case = case
        self._random = np.random.default_rng(seed)
        self._brokers, self._vain, self._count = _BROKERS, 0, 0

    @property
    def useful(self) -> bool:
        """Whether something may come of more of them."""
        return self._vain < 20 * _PATIENCE

    @property
    def rest(self) -> int:
        """How many nodes should be split before the next one."""
        return 1 + self._vain // _PATIENCE

    def repeat(self, times: int) -> None:
        for _ in range(times):
            if self._case.done:
                return
            self._count += 1
            split = self._count % 2 == 0
            if search_nearby(self._case, self._brokers, self._random, split=split):
                self._vain = 0
                continue
            self._vain += 1
            if self._vain % _PATIENCE == 0:
                self._brokers = min(2 * self._brokers, len(self._case.best.patterns))


def fill_by_columns(
    demand: Demand,
    capacities: Int64s,
    begin: Sequence[Draft],
    bound: int,
    options: Options,
) -> SearchResult:
    """The best draft of a search that begins with these, and a proven bound.

    Where brokers are so large, and topics so many, that no pattern can be found, the
    first draft and the given bound are the answer.
    """
    unit = int(np.gcd.reduce(demand.rates))
    sizes, number, counts = np.unique(
        -(capacities // unit), return_inverse=True, return_counts=True
    )
    supply = Supply(-sizes, counts)
    plans = [_patterns(draft, number, len(capacities)) for draft in begin]
    plans_found = search_supply(demand, supply, plans, bound, options)
    if plans_found is None:
        return SearchResult(begin[0], bound)
    case, stopped = plans_found
    draft = _draft(case.best.patterns, number)
    return SearchResult(draft, case.bound, stopped, case.generated)


def search_supply(
    demand: Demand,
    supply: Supply,
    plans: Sequence[Sequence[Pattern]],
    bound: int,
    options: Options,
) -> tuple[Case, bool] | None:
    """The case after a search, and whether `stop` ended it; None if it is too large.

    Sizes of the supply are in units of the greatest common divisor of the rates.
    """
    if not Pricer.can_price(demand, supply.sizes):
        return None
    unit = int(np.gcd.reduce(demand.rates))
    effort = Effort(WORK if options.stop is never else 1 << 62, options.stop)
    case = Case(replace(demand, rates=demand.rates // unit), supply, effort)
    case.bound = min(case.bound, bound)
    search(case, plans, options.seed)
    return case, effort.stopped and not case.proven


def _patterns(draft: Draft, number: Int64s, brokers: int) -> list[Pattern]:
    """What each broker carries; `number` is the number of its size."""
    order = np.lexsort((-draft.topic.astype(np.int64), draft.broker))
    cuts = np.searchsorted(draft.broker[order], np.arange(brokers + 1))
    topic, pairs = draft.topic[order].astype(np.int64), draft.pairs[order]
    return [
        Pattern(int(number[broker]), topic[start:end], pairs[start:end])
        for broker, (start, end) in enumerate(pairwise(cuts))
        if end > start
    ]


def _draft(patterns: Sequence[Pattern], number: Int64s) -> Draft:
    """Patterns on brokers of their sizes, in order."""
    free = [np.flatnonzero(number == size).tolist() for size in range(number.max() + 1)]
    brokers = [free[pattern.size].pop(0) for pattern in patterns]
    return as_draft(patterns, brokers)


def as_draft(patterns: Sequence[Pattern], brokers: Sequence[int]) -> Draft:
    """Patterns on these brokers."""
    lengths = [len(pattern.topic) for pattern in patterns]
    topic = [np.zeros(0, np.int64), *(pattern.topic for pattern in patterns)]
    pairs = [np.zeros(0, np.int64), *(pattern.pairs for pattern in patterns)]
    return Draft(
        np.concatenate(topic).astype(np.int32),
        np.repeat(np.array(brokers, np.int32), lengths),
        np.concatenate(pairs),
    )
