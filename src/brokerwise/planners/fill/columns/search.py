"""Fill brokers by column generation: relax, dive, search nearby, branch."""

from collections.abc import Sequence

import numpy as np

from brokerwise.planners.fill.columns.branching import Branching
from brokerwise.planners.fill.columns.case import Case
from brokerwise.planners.fill.columns.diving import dive, search_nearby
from brokerwise.planners.fill.columns.restricted import combine
from brokerwise.planners.fill.columns.supply import Pattern

_BROKERS = 4  # that the first searches nearby fill anew
_PATTERNS = 500  # that are worth being combined
_ASKS = 800  # that the first combination may take
_PATIENCE = 30  # searches in vain before more brokers are filled anew


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
