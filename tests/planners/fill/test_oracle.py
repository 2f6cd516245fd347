"""The oracles agree, though they have nothing in common."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.cases import ANY_CAPACITIES, Case, weighted_topics
from tests.planners.fill.oracle import (
    most_by_brute_force,
    most_by_highs,
    most_by_splitting,
    most_pair_by_pair,
)
from tests.tiers import examples

TINY = st.tuples(
    weighted_topics(rate=4, pairs=3, most=2),
    st.lists(st.integers(1, 16), min_size=1, max_size=2),
)


@settings(max_examples=examples(60))
@given(case=TINY)
def test_counting_pairs_is_as_good_as_placing_each(case: Case) -> None:
    assert most_by_brute_force(*case) == most_pair_by_pair(*case)


@settings(max_examples=examples(40))
@given(case=st.tuples(weighted_topics(rate=6, pairs=4, most=3), ANY_CAPACITIES))
def test_the_integer_program_of_the_paper_agrees(case: Case) -> None:
    assert most_by_brute_force(*case) == most_by_highs(*case)


def test_limits_count_brokers_with_at_least_so_many_pairs() -> None:
    topics, brokers = [(1, (1, 1, 1)), (2, (1,))], [6, 4]
    assert most_by_brute_force(topics, brokers) == 5
    assert most_by_brute_force(topics, brokers, limits={((1,), 1): (0, 0)}) == 3
    assert most_by_brute_force(topics, brokers, limits={((0,), 1): (2, -1)}) == 5
    assert most_by_brute_force(topics, brokers, limits={((0,), 2): (2, -1)}) is None
    assert most_by_brute_force(topics, brokers, limits={((0, 1), 1): (0, 1)}) == 3


def test_a_split_is_over_as_many_brokers_as_the_bandwidth_suffices_for() -> None:
    assert most_by_splitting([(2, (1, 1, 1))], total=12, largest=4) == 6
    assert most_by_splitting([(2, (1, 1, 1))], total=11, largest=4) == 4
    assert most_by_splitting([(2, (1, 1, 1))], total=11, largest=9) == 6
