"""What the experiment's own checks find in fillings."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.experiments.fill_checks import draft_problems, order_problems

RATES, FOLLOWERS, CAPACITIES = [5, 3, 2], [2, 4, 1], [20, 12]
Entry = tuple[int, int, int]  # topic, broker, pairs


def problems(entries: list[Entry], value: int) -> list[str]:
    columns = list(zip(*entries, strict=True)) or [(), (), ()]
    topic, broker = (np.array(column, np.int32) for column in columns[:2])
    pairs = np.array(columns[2], np.int64)
    rates, followers, capacities = (
        np.array(numbers, np.int64) for numbers in (RATES, FOLLOWERS, CAPACITIES)
    )
    draft = topic, broker, pairs
    return list(draft_problems(rates, followers, capacities, draft, value))


def right(entries: list[Entry], value: int) -> bool:
    """The load law and the rest, in plain words."""
    served, load = Counter[int](), Counter[int]()
    for topic, broker, pairs in entries:
        served[topic] += pairs
        load[broker] += RATES[topic] + RATES[topic] * pairs
    return (
        len({entry[:2] for entry in entries}) == len(entries)
        and all(pairs > 0 for _, _, pairs in entries)
        and all(served[topic] <= FOLLOWERS[topic] for topic in served)
        and all(load[broker] <= CAPACITIES[broker] for broker in load)
        and value == sum(RATES[topic] * count for topic, count in served.items())
    )


entries = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)), max_size=5
)


@given(entries, st.integers(0, 3))
def test_exactly_what_is_wrong_is_found(found: list[Entry], more: int) -> None:
    value = sum(RATES[topic] * pairs for topic, _, pairs in found) + max(0, more - 2)
    assert (problems(found, value) == []) == right(found, value)


def test_problems_say_what_and_how_much() -> None:
    assert problems([(0, 1, 2)], 10) == ["broker 1 carries 15 of 12"]
    assert problems([(2, 0, 2)], 4) == ["1 topics serve more than want it"]
    assert problems([(2, 0, 1)], 4) == ["says 4 is delivered, but it is 2"]
    assert problems([(1, 0, 1), (1, 0, 1)], 6) == ["a topic is twice on a broker"]
    assert problems([(3, 0, 1)], 0) == ["a topic or a broker that does not exist"]
    assert problems([(0, -1, 1)], 0) == ["a topic or a broker that does not exist"]


def test_nothing_may_be_above_the_bound_nor_columns_below_another() -> None:
    fine = {"greedy": 7, "mkp": 8, "columns": 8}
    assert list(order_problems(fine, 8)) == []
    assert list(order_problems(fine, 7)) == [
        "mkp delivers 8, above the bound of 7",
        "columns delivers 8, above the bound of 7",
    ]
    assert list(order_problems({**fine, "columns": 7}, 9)) == [
        "columns delivers 7, less than mkp with 8"
    ]
    assert list(order_problems({"greedy": 9, "mkp": 8}, None)) == []
