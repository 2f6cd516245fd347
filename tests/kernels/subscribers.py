"""Small blocks of subscribers, and what can be said of them by trying everything."""

from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from hypothesis import strategies as st

from brokerwise.kernels.selection import (
    Rule,
    Survey,
    Topics,
    select_block,
    survey_block,
)
from brokerwise.model.arrays import Float64s, Int32s, Int64s

Lists = list[list[int]]
FIRST = 7  # the id of the first subscriber
BEFORE = 5  # pairs of others that stand before theirs


@dataclass(frozen=True, eq=False)
class Case:
    """Some subscribers: what each wants, and how much of it."""

    topics: Topics
    lists: Lists
    needs: list[int]

    def block(self, begin: int = 0, end: int | None = None) -> tuple[Int64s, Int32s]:
        """Offsets and topics of some of them; the first does not start at zero."""
        offsets = BEFORE + np.cumsum([0, *map(len, self.lists)])
        lists = np.array([0] * BEFORE + list(chain(*self.lists)), np.int32)
        end = len(self.lists) if end is None else end
        return offsets.astype(np.int64)[begin : end + 1], lists

    def rates_of(self, i: int) -> list[int]:
        return [int(self.topics.rates[t]) for t in self.lists[i]]

    def carried(self, i: int) -> list[int]:
        """The topics of one of them that can be carried."""
        return [t for t in self.lists[i] if self.topics.low <= t < self.topics.high]

    def due(self, i: int) -> int:
        """What it must get."""
        return min(self.needs[i], sum(self.rates_of(i)))

    def ways(self, i: int) -> list[tuple[int, ...]]:
        """All choices that meet its need."""
        carried = self.carried(i)
        choices = chain(*(combinations(carried, n) for n in range(len(carried) + 1)))
        return [way for way in choices if self.rate(way) >= self.due(i)]

    def rate(self, way: tuple[int, ...] | list[int]) -> int:
        return sum(int(self.topics.rates[t]) for t in way)


@st.composite
def cases(draw: st.DrawFn, longest: int = 7, reachable: bool = False) -> Case:
    """Rates of all sizes, with ties, silent topics and ones that are too large."""
    largest = draw(st.sampled_from([1, 4, 30, 1_000, 10**6, 10**12]))
    rates = draw(st.lists(st.integers(0, largest), min_size=1, max_size=12))
    rates.sort(reverse=True)
    high = sum(rate > 0 for rate in rates)
    low = 0 if reachable else draw(st.integers(0, min(high, 2)))
    topic = st.integers(0, len(rates) - 1)
    lists = draw(st.lists(st.sets(topic, max_size=longest).map(sorted), max_size=6))
    need = st.integers(0, 3 * largest) | st.sampled_from([0, 1, 2 * largest])
    needs = draw(st.lists(need, min_size=len(lists), max_size=len(lists)))
    return Case(Topics(np.array(rates, np.int64), low, high), lists, needs)


def selected(
    case: Case, rule: Rule, begin: int = 0, end: int | None = None
) -> tuple[Lists, Int64s]:
    """What some of the subscribers get, and how many get each topic."""
    counts = np.zeros(len(case.topics.rates), np.int64)
    offsets, lists = case.block(begin, end)
    needs = np.array(case.needs[begin:end], np.int64)
    ends, found = select_block(
        rule, case.topics, FIRST + begin, offsets, lists, needs, counts
    )
    assert ends[0] == 0 and ends[-1] == len(found)
    parts = np.split(found, ends[1:-1]) if len(needs) else []
    return [part.tolist() for part in parts], counts


def surveyed(case: Case, begin: int = 0, end: int | None = None) -> Survey:
    survey = Survey.empty(len(case.topics.rates))
    offsets, lists = case.block(begin, end)
    needs = np.array(case.needs[begin:end], np.int64)
    survey_block(case.topics, FIRST + begin, offsets, lists, needs, survey)
    return survey


def prices_for(case: Case, others: list[int]) -> Float64s:
    """What `shared` makes of topics when so many others get them."""
    parts = 1.0 / np.maximum(np.array(others), 0.5)
    prices: Float64s = case.topics.rates * (1.0 + parts)
    return prices


def least_sum(values: list[int], target: int) -> int:
    """The least sum of some of them that reaches the target; for up to 40 values."""
    half = len(values) // 2
    one, other = (_all_sums(part) for part in (values[:half], values[half:]))
    places = np.searchsorted(other, target - one)
    found = places < len(other)
    return int((one[found] + other[places[found]]).min())


def _all_sums(values: list[int]) -> Int64s:
    sums = np.zeros(1, np.int64)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return np.sort(sums)
