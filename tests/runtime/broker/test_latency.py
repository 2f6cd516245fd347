"""Percentiles of latencies, against those of numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.broker.latency import RELATIVE_ERROR, LatencyHistogram

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
    assert RELATIVE_ERROR < 0.03
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
    assert merged.count == both.count == len(first) + len(second)
    assert merged.percentiles(*PERCENTS) == both.percentiles(*PERCENTS)


def test_several_at_once_are_as_many_one_by_one() -> None:
    histogram = LatencyHistogram()
    histogram.record(10, times=98)
    histogram.record(5000, times=2)
    assert histogram.count == 100
    assert histogram.percentiles(98, 99) == of([10] * 98 + [5000] * 2).percentiles(
        98, 99
    )


def test_without_latencies_percentiles_are_0() -> None:
    histogram = of([3])
    histogram.clear()
    assert histogram.percentiles(50, 99) == [0, 0]


def test_below_0_is_0_and_hours_are_the_most_that_is_told_apart() -> None:
    assert of([-1, -(10**12)]).percentiles(50, 100) == [0, 0]
    most = (1 << 32) - 1
    assert of([10**15]).percentiles(50) == of([most]).percentiles(50)
    assert of([most]).percentiles(50) == pytest.approx([most], rel=RELATIVE_ERROR)
