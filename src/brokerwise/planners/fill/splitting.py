"""Bandwidth that is booked in all: how many brokers, and of which sizes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Bandwidth
from brokerwise.planners.fill.bounds import merged_bound, paper_bound
from brokerwise.planners.fill.columns.fill import as_draft, search_supply
from brokerwise.planners.fill.columns.supply import Pattern, Supply
from brokerwise.planners.fill.demand import Demand
from brokerwise.planners.fill.draft import Draft, taken_by_class
from brokerwise.planners.fill.filling import Filling
from brokerwise.planners.fill.heuristics import HEURISTICS
from brokerwise.planners.fill.options import Options

Fill = Callable[[Demand, Int64s], Draft]


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
