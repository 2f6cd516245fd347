"""Plans from relaxations: fix a pattern, relax what is left, repeat."""

from collections.abc import Sequence

import numpy as np

from brokerwise.planners.fill.columns.case import Case
from brokerwise.planners.fill.columns.incumbent import served
from brokerwise.planners.fill.columns.relaxation import ROUNDING, Relaxed
from brokerwise.planners.fill.columns.supply import Pattern

_KEPT = 300  # patterns that a relaxation hands to the next one


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
    relaxed: Relaxed,
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


def _useful(relaxed: Relaxed) -> list[Pattern]:
    """Those with a share, and the latest."""
    latest = relaxed.patterns[-_KEPT:]
    keys = {pattern.key for pattern in latest}
    return [*(p for p, _ in relaxed.chosen() if p.key not in keys), *latest]
