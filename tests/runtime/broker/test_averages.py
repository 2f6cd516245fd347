"""Moving averages of rates, against their definition as an integral."""

import math
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.broker.averages import MovingRate

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


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan])
def test_a_time_constant_is_above_0(seconds: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        MovingRate(0.0, seconds=seconds)
