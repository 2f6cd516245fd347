"""The load law, against sums of Python's unbounded integers."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.errors import InputError
from brokerwise.model.load import broker_loads, refuse_overflow, run_load, run_loads

LIMIT = 2**63 - 1

runs = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(1, 10**6)), max_size=20
)
rates = st.lists(st.integers(0, 10**9), min_size=6, max_size=6)


def test_a_topic_of_rate_10_with_3_pairs_puts_40_on_its_broker() -> None:
    assert run_load(10, 3) == 40
    loads = broker_loads(
        np.array([10]),
        np.zeros(1, np.int32),
        np.array([1], np.int32),
        np.array([3]),
        brokers=2,
    )
    assert loads.tolist() == [0, 40]


@given(rates=rates, runs=runs)
def test_loads_are_those_of_the_law(
    rates: list[int], runs: list[tuple[int, int, int]]
) -> None:
    expected: Counter[int] = Counter()
    for topic, broker, pairs in runs:
        expected[broker] += rates[topic] * (1 + pairs)
    columns = np.array(runs, np.int64).reshape(-1, 3).T
    found = broker_loads(
        np.array(rates, np.int64),
        columns[0].astype(np.int32),
        columns[1].astype(np.int32),
        columns[2],
        brokers=4,
    )
    assert found.tolist() == [expected[b] for b in range(4)]
    assert found.dtype == np.int64


numbers = st.integers(0, LIMIT) | st.integers(0, 2**31) | st.just(LIMIT)


@given(st.lists(st.tuples(numbers, numbers), max_size=5))
def test_exactly_the_sums_past_64_bits_are_refused(
    terms: list[tuple[int, int]],
) -> None:
    total = sum(rate * times for rate, times in terms)
    rates, times = np.array(terms, np.int64).reshape(-1, 2).T
    if total > LIMIT:
        with pytest.raises(InputError, match=r"total load: found .*, expected at most"):
            refuse_overflow("load", rates, times)
    else:
        refuse_overflow("load", rates, times)


@pytest.mark.parametrize("over", [0, 1])
def test_the_limit_itself_is_allowed_and_one_more_is_not(over: int) -> None:
    rates = np.array([LIMIT // 3, LIMIT - 3 * (LIMIT // 3) + over])
    times = np.array([3, 1])
    if over:
        with pytest.raises(InputError, match=r"2\^63 - 1"):
            refuse_overflow("load", rates, times)
    else:
        refuse_overflow("load", rates, times)


def test_a_run_past_64_bits_is_refused_and_does_not_wrap_around() -> None:
    assert run_loads(np.array([1]), np.array([LIMIT - 1])).tolist() == [LIMIT]
    with pytest.raises(InputError, match="total load"):
        run_loads(np.array([1]), np.array([LIMIT]))
    with pytest.raises(InputError) as refused:
        run_loads(np.array([2**62, 2**62]), np.array([0, 0]))
    assert refused.value.hint == "Shorten the period or count in larger units."


def test_a_topic_without_messages_puts_nothing_anywhere() -> None:
    assert run_loads(np.array([0]), np.array([LIMIT])).tolist() == [0]
