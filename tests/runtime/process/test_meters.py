"""Moving rates, against their definition as an integral; histograms of latencies."""

import math
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.process.meters import LatencyHistogram, MovingRate

RELATIVE_ERROR = 1 / 64  # of a percentile

INTERVALS = st.lists(st.integers(1, 400), min_size=1, max_size=30)  # quarter seconds


@given(rate=st.integers(0, 10**6), quarters=INTERVALS, seconds=st.floats(0.5, 100))
def test_a_constant_rate_is_found_however_irregular_the_looks(
    rate: int, quarters: list[int], seconds: float
) -> None:
    average = MovingRate(7.0, total=5, seconds=seconds)
    for passed in accumulate(quarters):
        found = average.look(5 + rate * passed, 7.0 + passed / 4)
        assert found == pytest.approx(4 * rate, rel=1e-9)


@given(
    looks=st.lists(
        st.tuples(st.floats(0.01, 30), st.integers(0, 10**6)), min_size=1, max_size=20
    ),
    seconds=st.floats(0.5, 100),
)
def test_a_changing_rate_is_weighted_by_its_age(
    looks: list[tuple[float, int]], seconds: float
) -> None:
    average = MovingRate(0.0, seconds=seconds)
    now, total = 0.0, 0
    for passed, count in looks:
        now, total = now + passed, total + count
        average.look(total, now)
    assert average.per_second == pytest.approx(weighted(looks, seconds), rel=1e-6)


def weighted(looks: list[tuple[float, int]], seconds: float) -> float:
    """The integral of rate times exp(-age / seconds), over that of the weights."""
    end = sum(passed for passed, _ in looks)
    over = under = start = 0.0
    for passed, count in looks:
        young = math.exp(-(end - start - passed) / seconds)
        area = seconds * (young - math.exp(-(end - start) / seconds))
        over, under = over + count / passed * area, under + area
        start += passed
    return over / under


def test_silence_fades_with_the_time_constant() -> None:
    average = MovingRate(0.0)
    average.look(100_000, 1000.0)
    assert average.look(100_000, 1010.0) == pytest.approx(100 / math.e)


def test_a_look_at_the_same_time_loses_nothing() -> None:
    average = MovingRate(3.0)
    assert average.look(50, 3.0) == 0.0
    assert average.look(50, 2.0) == 0.0
    assert average.look(100, 5.0) == 50.0
    assert average.look(900, 5.0) == 50.0
    assert average.look(200, 7.0) == pytest.approx(50.0)


# Spread over all sizes, not only over the large numbers that there are most of.
LATENCIES = st.integers(0, 31).flatmap(lambda bits: st.integers(0, (2 << bits) - 1))
PERCENTS = (0.1, 25, 50, 90, 99, 100)


def of(latencies: list[int]) -> LatencyHistogram:
    histogram = LatencyHistogram()
    for microseconds in latencies:
        histogram.record(microseconds)
    return histogram


@given(st.lists(LATENCIES, min_size=1, max_size=300))
def test_percentiles_are_those_of_numpy_within_the_error(latencies: list[int]) -> None:
    exact = np.percentile(latencies, PERCENTS, method="inverted_cdf")
    found = np.array(of(latencies).percentiles(*PERCENTS))
    assert (np.abs(found - exact) <= RELATIVE_ERROR * exact).all()


def test_percentiles_of_many_drawn_latencies_are_close() -> None:
    drawn = np.random.default_rng(1).lognormal(7, 1.5, 100_000).astype(int).tolist()
    exact = np.percentile(drawn, [50, 90, 99])
    assert of(drawn).percentiles(50, 90, 99) == pytest.approx(exact, rel=0.03)


@given(st.lists(LATENCIES), st.lists(LATENCIES))
def test_merged_histograms_are_those_of_all_latencies(
    first: list[int], second: list[int]
) -> None:
    merged = of(first)
    merged.merge(of(second))
    both = of(first + second)
    assert sum(merged.counts) == sum(both.counts) == len(first) + len(second)
    assert merged.percentiles(*PERCENTS) == both.percentiles(*PERCENTS)


def test_without_latencies_percentiles_are_0() -> None:
    assert of([]).percentiles(50, 99) == [0, 0]


def test_below_0_is_0_and_hours_are_the_most_that_is_told_apart() -> None:
    assert of([-1, -(10**12)]).percentiles(50, 100) == [0, 0]
    most = (1 << 32) - 1
    assert of([10**15]).percentiles(50) == of([most]).percentiles(50)
    assert of([most]).percentiles(50) == pytest.approx([most], rel=RELATIVE_ERROR)
