"""The best possible filling of small problems, found without our planners.

A topic here is its rate and the weight of each of its pairs; a way to serve it is how
many pairs every broker has of it.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

import highspy

Topic = tuple[int, Sequence[int]]
Limits = Mapping[tuple[tuple[int, ...], int], tuple[int, int]]
Asked = tuple[set[int], int, int, int]


def worth(topic: Topic, served: int) -> int:
    """The best so many pairs of a topic."""
    rate, weights = topic
    return rate * sum(sorted(weights, reverse=True)[:served])


def most_by_brute_force(
    topics: Sequence[Topic],
    capacities: Sequence[int],
    *,
    total: int | None = None,
    limits: Limits | None = None,
) -> int | None:
    """Every number of pairs of every topic on every broker, within the load law.

    `total` limits the load of all brokers together. `limits` has, for some topics and
    n, the least and the most number of times that a broker has at least n pairs of one
    of the topics; a most below 0 is none. None if nothing is within them.
    """
    asked = [(set(of), n, *limit) for (of, n), limit in (limits or {}).items()]
    everything = sum(capacities) if total is None else total

    @cache
    def best(
        topic: int, rooms: tuple[int, ...], left: int, counts: tuple[int, ...]
    ) -> int | None:
        if topic == len(topics):
            return 0 if _within(counts, asked) else None
        found = None
        rate, weights = topics[topic]
        for way in _spread(len(weights), len(rooms)):
            loads = [rate * (n + 1) if n else 0 for n in way]
            after = [room - load for room, load in zip(rooms, loads, strict=True)]
            if min(after) < 0 or sum(loads) > left:
                continue
            more = tuple(
                count + (topic in of) * sum(has >= n for has in way)
                for count, (of, n, _, _) in zip(counts, asked, strict=True)
            )
            # Only what room is left matters to the topics to come, not where.
            rest = best(topic + 1, tuple(sorted(after)), left - sum(loads), more)
            if rest is not None:
                value = worth(topics[topic], sum(way)) + rest
                found = value if found is None else max(found, value)
        return found

    return best(0, tuple(sorted(capacities)), everything, (0,) * len(asked))


def most_by_splitting(topics: Sequence[Topic], total: int, largest: int) -> int:
    """Every way to serve topics with brokers of up to a size, and a load in all."""
    smallest = min((2 * rate for rate, _ in topics), default=1)
    brokers = min(sum(len(w) for _, w in topics), total // smallest)
    rooms = [min(largest, total)] * max(1, brokers)
    return most_by_brute_force(topics, rooms, total=total) or 0


def most_pair_by_pair(topics: Sequence[Topic], capacities: Sequence[int]) -> int:
    """Every place of every single pair, or none; knows nothing of best pairs first."""
    pairs = [(t, w) for t, (_, weights) in enumerate(topics) for w in weights]
    best = 0
    for where in product(range(-1, len(capacities)), repeat=len(pairs)):
        rooms, value = list(capacities), 0
        for broker in range(len(capacities)):
            mine = [pair for pair, b in zip(pairs, where, strict=True) if b == broker]
            rooms[broker] -= sum(topics[t][0] for t in {t for t, _ in mine})
            rooms[broker] -= sum(topics[t][0] for t, _ in mine)
            value += sum(topics[t][0] * w for t, w in mine)
        if min(rooms) >= 0:
            best = max(best, value)
    return best


def most_by_highs(topics: Sequence[Topic], capacities: Sequence[int]) -> int:
    """The paper's model with its constraints corrected, a variable for every pair and
    broker, solved by HiGHS."""
    h: Any = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("mip_rel_gap", 0.0)
    load: list[list[Any]] = [[] for _ in capacities]
    for rate, weights in topics:
        carried = [h.addBinary() for _ in capacities]
        served = [[h.addBinary(obj=-rate * w) for _ in capacities] for w in weights]
        for x in served:
            h.addConstr(h.qsum(x) <= 1)
        for k, y in enumerate(carried):
            mine = [x[k] for x in served]
            h.addConstr(h.qsum(mine) <= len(weights) * y)
            load[k] += [rate * y, *(rate * x for x in mine)]
    for k, capacity in enumerate(capacities):
        if load[k]:
            h.addConstr(h.qsum(load[k]) <= capacity)
    if not h.numVariables:
        return 0
    h.run()
    assert h.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return -round(float(h.getInfo().objective_function_value))


def _within(counts: Sequence[int], asked: Sequence[Asked]) -> bool:
    return all(
        least <= count and (most < 0 or count <= most)
        for count, (_, _, least, most) in zip(counts, asked, strict=True)
    )


@cache
def _spread(pairs: int, brokers: int) -> list[tuple[int, ...]]:
    """Every way to give at most so many pairs to brokers."""
    if brokers == 0:
        return [()]
    return [
        (n, *rest) for n in range(pairs + 1) for rest in _spread(pairs - n, brokers - 1)
    ]
