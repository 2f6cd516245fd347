"""Small problems, and what follows from the definitions alone."""

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.planners.colocate.predictors import Queueing, Random

from brokerwise.model.colocation import TopicTable
from brokerwise.model.names import Names
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.problem import Demand, Observation, Problem

Brokers = Sequence[Sequence[int]]


def table_of(*rows: tuple[float, ...], target: float = 100.0) -> TopicTable:
    """Topics a, b, ... of (processing, rate[, target])."""
    names = (chr(ord("a") + at) for at in range(len(rows)))
    targets = [row[2] if len(row) > 2 else target for row in rows]
    figures = np.array([row[:2] for row in rows], float).reshape(-1, 2)
    return TopicTable(
        Names.of(names), figures[:, 0], figures[:, 1], np.array(targets, float)
    )


def drawn(count: int, seed: int, *, whole: bool = True, target: float = 250.0) -> Any:
    """Topics like those that are measured: 2.5 to 10 ms, at most about a core each."""
    rng = np.random.default_rng(seed)
    processing = rng.choice([2.5, 5.0, 7.5, 10.0], count)
    most = 850 / processing
    rate = np.maximum(4, rng.random(count) * most)
    rate = 4 * np.round(rate / 4) if whole else rate
    names = Names.numbered(count)
    return TopicTable(names, processing, rate, np.full(count, target))


@st.composite
def problems(
    draw: st.DrawFn, *, most: int = 8, monotone: bool | None = None
) -> Problem:
    """At most so many topics, some of which look alike, each feasible alone."""
    if monotone is None:
        monotone = draw(st.booleans())
    count = draw(st.integers(0, most))
    k = draw(st.integers(1, 4))
    if not monotone:
        rows = [(float(draw(st.integers(1, 6))), 1.0) for _ in range(count)]
        share = draw(st.sampled_from([0.3, 0.6, 0.9]))
        seed = draw(st.integers(0, 10**6))
        return Problem(table_of(*rows), Random(share, seed), k, 0.1)
    kinds = st.tuples(
        st.sampled_from([2.5, 5.0, 10.0]),
        st.sampled_from([8.0, 20.0, 44.0, 76.0]),
        st.sampled_from([100.0, 250.0]),
    )
    given = draw(st.lists(kinds, min_size=count, max_size=count))
    cores = draw(st.sampled_from([1.0, 1.5, 2.0]))
    return Problem(table_of(*given), Queueing(cores=cores), k, 0.1)


def oracle_of(problem: Problem, replicas: Sequence[int] | None = None) -> Oracle:
    count = None if replicas is None else np.array(replicas, np.int64)
    return Oracle(problem, Demand.of(problem, count))


class Literal:
    """Feasibility as it is defined, one set at a time, and the fewest brokers."""

    def __init__(self, problem: Problem, demand: Demand | None = None) -> None:
        self.problem = problem
        self.demand = Demand.of(problem) if demand is None else demand
        self.within = cache(self._within)

    def _within(self, members: tuple[int, ...]) -> bool:
        demand, row = self.demand, list(members)
        held = {int(demand.topic[m]): demand.rate_per_second[m] for m in row}
        if any(_covers(held, seen) for seen in self.problem.met):
            return True
        p90 = self.problem.predictor.p90_ms(
            demand.processing_ms[row][None], demand.rate_per_second[row][None]
        )
        return bool((p90[0] <= demand.limit_ms[row]).all())

    def feasible(self, members: Sequence[int]) -> bool:
        demand, row = self.demand, tuple(sorted(members))
        topics = [int(demand.topic[m]) for m in row]
        if len(set(topics)) < len(row) or len(row) > self.problem.k:
            return False
        held = {t: demand.rate_per_second[m] for t, m in zip(topics, row, strict=True)}
        if any(_holds(held, seen) for seen in self.problem.missed):
            return False
        sizes = range(1, len(row) + 1)
        return all(self.within(part) for s in sizes for part in combinations(row, s))

    def fewest(self) -> int:
        """The optimum: over all sets that have the first replica that is left."""

        @cache
        def least(left: tuple[int, ...]) -> int:
            if not left:
                return 0
            first, *others = left
            found = len(left)
            for size in range(min(self.problem.k, len(left))):
                for more in combinations(others, size):
                    if self.feasible((first, *more)):
                        rest = tuple(r for r in others if r not in more)
                        found = min(found, 1 + least(rest))
            return found

        return least(tuple(range(len(self.demand))))

    def check(self, brokers: Brokers) -> None:
        """Every replica once, on brokers that are feasible."""
        held = sorted(int(r) for members in brokers for r in members)
        assert held == list(range(len(self.demand)))
        for members in brokers:
            assert members and self.feasible(members), members


def _covers(held: dict[int, float], seen: Observation) -> bool:
    rates = dict(zip(seen.topics, seen.rates, strict=True))
    return all(t in rates and rate <= rates[t] for t, rate in held.items())


def _holds(held: dict[int, float], seen: Observation) -> bool:
    pairs = zip(seen.topics, seen.rates, strict=True)
    return all(t in held and held[t] >= rate for t, rate in pairs)
