"""Brokers filled by one of the algorithms, with a proven bound: given brokers, or
bandwidth that is booked in all and split into brokers.

The two heuristics are those of Lambert and Sakellariou, "Allocation of
Publisher/Subscriber Data Links on a Set of Virtual Machines" (IEEE CLOUD 2018).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import floor

import numpy as np

from brokerwise.kernels.fill_columns import most_in_one
from brokerwise.kernels.fill_heuristics import fill_greedy, fill_mkp
from brokerwise.model.arrays import INT64_MAX, Float64s, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Bandwidth
from brokerwise.planners.fill.columns.search import (
    as_draft,
    fill_by_columns,
    search_supply,
)
from brokerwise.planners.fill.columns.supply import Pattern, Supply
from brokerwise.planners.fill.ilp import fill_by_ilp
from brokerwise.planners.fill.problem import Demand, Draft, Options, taken_by_class

_Kernel = Callable[
    [Int64s, Int64s, Int64s, Int64s, Int64s], tuple[Int32s, Int32s, Int64s]
]

# Far above what rounding can add up to in sums over a billion classes.
_ROUNDING = 1e-9
_STEPS = 500_000_000  # under a second
_LARGEST = 10_000_000  # a table of 160 MB

Fill = Callable[[Demand, Int64s], Draft]


def greedy(demand: Demand, capacities: Int64s) -> Draft:
    """Their GS: the topic with the most unserved pairs goes to the broker with the
    most room, with as many pairs as fit.

    As printed it never ends once a topic fits nowhere; here it is dropped then.
    O(pairs (log brokers + log topics)).
    """
    return _run(fill_greedy, demand, capacities)


def mkp(demand: Demand, capacities: Int64s) -> Draft:
    """Their MKPBS: whole topics by a greedy multiple knapsack, then, round by round,
    the room that is left by exact knapsacks over pairs."""
    return _run(fill_mkp, demand, capacities)


HEURISTICS: dict[str, Callable[[Demand, Int64s], Draft]] = {
    "greedy": greedy,
    "mkp": mkp,
}


def _run(kernel: _Kernel, demand: Demand, capacities: Int64s) -> Draft:
    arrays = (demand.rates, demand.starts, demand.value, demand.pairs, capacities)
    return Draft(*kernel(*arrays))


def paper_bound(demand: Demand, bandwidth: int) -> int:
    """All that is wanted, or all bandwidth spent on the most valuable pairs.

    Without weights it is the smaller of total bandwidth and rate of all pairs, as
    Lambert and Sakellariou have it: set-ups and pairs that do not fit are ignored.
    """
    rates = demand.rates[demand.topic]
    weight = demand.value // np.maximum(rates, 1)
    order = np.argsort(-weight, kind="stable")
    load = (rates * demand.pairs)[order]
    room = np.clip(bandwidth - (np.cumsum(load) - load), 0, load)
    return int(room @ weight[order])


def quick_bound(demand: Demand, bandwidth: int, largest: int) -> int:
    """All bandwidth spent where it is worth the most, set-ups included.

    A broker that has n pairs of a topic spends n + 1 times its rate on them, and no
    broker has more than the largest can carry: so every pair takes its rate and a
    share of a set-up. O(classes log classes).
    """
    most = np.minimum(demand.followers, largest // demand.rates - 1)
    load: Float64s = demand.rates * (1 + 1 / np.maximum(most, 1))
    each = load[demand.topic]
    order = np.argsort(-(demand.value / each), kind="stable")
    loads = (each * demand.pairs)[order]
    room = np.clip(bandwidth - (np.cumsum(loads) - loads), 0, loads)
    value = float((room / each[order]) @ demand.value[order])
    return min(demand.total, _floor(value * (1 + _ROUNDING) + _ROUNDING, demand.value))


def merged_bound(demand: Demand, bandwidth: int, largest: int) -> int:
    """What one broker with all bandwidth could carry, if topics that are too large for
    the largest broker paid for their set-ups; exact, by a dynamic program.

    Where that takes too long, the quick bound. Unlike relaxations it knows that pairs
    and set-ups are whole, but not that brokers must be filled one by one.
    """
    unit = int(np.gcd.reduce(demand.rates)) if demand.topics else 1
    bound = quick_bound(demand, bandwidth, largest)
    size = bandwidth // unit
    if size > _LARGEST or int(demand.pairs.sum()) * size > _STEPS:
        return bound
    arrays = (demand.rates // unit, demand.starts, demand.value, demand.pairs)
    return min(bound, int(most_in_one(*arrays, size, largest // unit)))


def _floor(bound: float, values: Int64s) -> int:
    """Down to a number that values can add up to."""
    grain = int(np.gcd.reduce(values)) if len(values) else 1
    return floor(bound) // grain * grain


@dataclass(frozen=True, eq=False)
class Filling:
    """A draft, what it is worth, and what none can exceed.

    `greedy` and `mkp` are what the heuristics reach, if they were run on the way;
    `patterns` counts those of the column generation.
    """

    draft: Draft
    value: int
    bound: int
    bound_paper: int
    stopped: bool = False
    greedy: int | None = None
    mkp: int | None = None
    patterns: int = 0


def fill_brokers(demand: Demand, capacities: Int64s, options: Options) -> Filling:
    """The most valuable pairs that brokers of these capacities can carry.

    `columns` is never worse than `greedy` and `mkp`. The certified bound of all but
    `ilp` is that of `columns`, which searches for it as long as it takes to find its
    own plan.
    """
    bandwidth = min(INT64_MAX, sum(capacities.tolist()))
    paper = paper_bound(demand, bandwidth)
    if not demand.topics:
        nothing = np.zeros(0, np.int64)
        draft = Draft(nothing.astype(np.int32), nothing.astype(np.int32), nothing)
        return Filling(draft, 0, 0, paper)
    drafts = {name: fill(demand, capacities) for name, fill in HEURISTICS.items()}
    values = {name: draft.value(demand) for name, draft in drafts.items()}
    if options.algorithm in drafts and options.bound == "paper":
        name = options.algorithm
        return Filling(drafts[name], values[name], paper, paper)
    quick = min(paper, merged_bound(demand, bandwidth, int(capacities.max())))
    begin = [drafts[name] for name in sorted(drafts, key=lambda n: -values[n])]
    if options.algorithm == "ilp":
        found = fill_by_ilp(demand, capacities, begin[0], quick, options.stop)
    else:
        found = fill_by_columns(demand, capacities, begin, quick, options)
    draft = drafts.get(options.algorithm, found.draft)
    filling = Filling(
        draft,
        draft.value(demand),
        paper if options.bound == "paper" else found.bound,
        paper,
        found.stopped,
        patterns=found.patterns,
    )
    return (
        filling
        if options.algorithm != "columns"
        else replace(filling, greedy=values["greedy"], mkp=values["mkp"])
    )


def split_bandwidth(
    demand: Demand, bandwidth: Bandwidth, options: Options
) -> tuple[Filling, Int64s]:
    """The most valuable pairs, and the sizes of the brokers that carry them.

    Sizes are as near to the largest as the total allows.
    """
    if options.algorithm == "ilp":
        raise InputError(
            "algorithm: found 'ilp', which cannot split a total bandwidth, "
            "expected greedy, mkp or columns"
        )
    paper = paper_bound(demand, bandwidth.total)
    drafts = {name: _in_turn(f, demand, bandwidth) for name, f in HEURISTICS.items()}
    values = {name: draft.value(demand) for name, draft in drafts.items()}
    heuristic = drafts.get(options.algorithm)
    if (heuristic is not None and options.bound == "paper") or not demand.topics:
        draft = heuristic or drafts["greedy"]
        filling = Filling(draft, draft.value(demand), paper, paper)
    else:
        filling = _searched(demand, bandwidth, drafts, values, options)
        if heuristic is not None:
            value = heuristic.value(demand)
            filling = replace(filling, draft=heuristic, value=value)
        else:
            filling = replace(filling, greedy=values["greedy"], mkp=values["mkp"])
    draft = _merged(filling.draft, demand, bandwidth.max_broker)
    filling = replace(filling, draft=draft)
    return filling, _sizes(draft, demand, bandwidth)


def _searched(
    demand: Demand,
    bandwidth: Bandwidth,
    drafts: dict[str, Draft],
    values: dict[str, int],
    options: Options,
) -> Filling:
    unit = int(np.gcd.reduce(demand.rates))
    largest = min(bandwidth.max_broker, bandwidth.total)
    supply = Supply(
        np.array([largest // unit]), np.zeros(1, np.int64), bandwidth.total // unit
    )
    paper = paper_bound(demand, bandwidth.total)
    bound = min(paper, merged_bound(demand, bandwidth.total, largest))
    best = drafts[max(values, key=lambda name: values[name])]
    plans = [_patterns(draft) for draft in drafts.values()]
    found = search_supply(demand, supply, plans, bound, options)
    if found is None:
        bound = paper if options.bound == "paper" else bound
        return Filling(best, best.value(demand), bound, paper)
    case, stopped = found
    patterns = case.best.patterns
    draft = as_draft(patterns, range(len(patterns)))
    bound = paper if options.bound == "paper" else case.bound
    return Filling(
        draft, case.best.value, bound, paper, stopped, patterns=case.generated
    )


def _in_turn(fill: Fill, demand: Demand, bandwidth: Bandwidth) -> Draft:
    """Brokers of the largest size; then more, from the bandwidth that they leave."""
    parts: list[Draft] = []
    left, total, brokers = demand, bandwidth.total, 0
    served = np.zeros(demand.topics, np.int64)
    while left.topics and total > 0:
        full, rest = divmod(total, bandwidth.max_broker)
        pairs = demand.pairs - taken_by_class(demand, served)
        full = min(full, int(pairs.sum()))  # no more brokers can be of use
        sizes = [bandwidth.max_broker] * full + [rest] * (rest > 0)
        left, ids = replace(demand, pairs=pairs).carried(max(sizes, default=0))
        if not left.topics:
            break
        found = fill(left, np.array(sizes, np.int64))
        if not len(found.topic):
            break
        used, number = np.unique(found.broker, return_inverse=True)
        topic = ids[found.topic].astype(np.int32)
        part = Draft(topic, (brokers + number).astype(np.int32), found.pairs)
        parts.append(part)
        brokers += len(used)
        served += part.served(demand)
        total -= int(found.loads(left, len(sizes)).sum())
    return Draft(
        np.concatenate([np.zeros(0, np.int32), *(p.topic for p in parts)]),
        np.concatenate([np.zeros(0, np.int32), *(p.broker for p in parts)]),
        np.concatenate([np.zeros(0, np.int64), *(p.pairs for p in parts)]),
    )


def _merged(draft: Draft, demand: Demand, largest: int) -> Draft:
    """Fewer brokers: the fullest first, each joins the first that it fits on.

    Joined brokers receive a topic that both have only once, so nothing gets worse.
    """
    brokers = int(draft.broker.max(initial=-1)) + 1
    loads = draft.loads(demand, brokers)
    home = np.zeros(brokers, np.int64)
    rooms: list[int] = []
    for broker in np.argsort(-loads, kind="stable").tolist():
        load = int(loads[broker])
        fits = (number for number, room in enumerate(rooms) if room >= load)
        home[broker] = next(fits, len(rooms))
        if home[broker] == len(rooms):
            rooms.append(largest)
        rooms[home[broker]] -= load
    key = home[draft.broker] * max(1, demand.topics) + draft.topic
    found, number = np.unique(key, return_inverse=True)
    pairs = np.zeros(len(found), np.int64)
    np.add.at(pairs, number, draft.pairs)
    broker, topic = np.divmod(found, max(1, demand.topics))
    return Draft(topic.astype(np.int32), broker.astype(np.int32), pairs)


def _patterns(draft: Draft) -> list[Pattern]:
    found = []
    for broker in range(int(draft.broker.max(initial=-1)) + 1):
        of_broker = np.flatnonzero(draft.broker == broker)
        order = of_broker[np.argsort(-draft.topic[of_broker])]
        topic = draft.topic[order].astype(np.int64)
        found.append(Pattern(0, topic, draft.pairs[order]))
    return found


def _sizes(draft: Draft, demand: Demand, bandwidth: Bandwidth) -> Int64s:
    """What each broker carries, rounded up to the largest size while that lasts."""
    brokers = int(draft.broker.max(initial=-1)) + 1
    sizes = draft.loads(demand, brokers)
    spare = bandwidth.total - int(sizes.sum())
    for broker in np.argsort(-sizes, kind="stable"):
        more = min(spare, bandwidth.max_broker - int(sizes[broker]))
        sizes[broker] += more
        spare -= more
    if brokers == 0:
        return np.array([min(bandwidth.max_broker, bandwidth.total)], np.int64)
    return sizes
