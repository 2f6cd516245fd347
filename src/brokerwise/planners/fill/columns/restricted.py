"""The best plan that the patterns known so far can be put together to."""

from collections.abc import Sequence

from brokerwise.planners.fill.columns.case import Case
from brokerwise.planners.fill.columns.master import Master
from brokerwise.planners.fill.columns.supply import Pattern


def combine(case: Case, patterns: Sequence[Pattern], asks: int) -> None:
    """Offer the best plan of these patterns and those of the best plan, as far as a
    search that is limited to so many `asks` finds it."""
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
