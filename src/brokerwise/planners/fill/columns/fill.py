"""Column generation for brokers of given capacities, or for bandwidth to split."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.planners.control import never
from brokerwise.planners.fill.columns.case import Case
from brokerwise.planners.fill.columns.effort import Effort
from brokerwise.planners.fill.columns.pricer import Pricer
from brokerwise.planners.fill.columns.search import search
from brokerwise.planners.fill.columns.supply import Pattern, Supply
from brokerwise.planners.fill.demand import Demand
from brokerwise.planners.fill.draft import Draft
from brokerwise.planners.fill.found import Found
from brokerwise.planners.fill.options import Options

WORK = 10_000_000_000
"""Steps that a search may take; about ten seconds."""


def fill_by_columns(
    demand: Demand,
    capacities: Int64s,
    begin: Sequence[Draft],
    bound: int,
    options: Options,
) -> Found:
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
        return Found(begin[0], bound)
    case, stopped = plans_found
    draft = _draft(case.best.patterns, number)
    return Found(draft, case.bound, stopped, case.generated)


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
