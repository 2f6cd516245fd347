"""All brokers as one, against every number of pairs of every topic."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.fill_cases import WEIGHTED, arrays
from tests.kernels.fill_literal import Topic
from tests.kernels.interpreted import interpreted
from tests.tiers import examples

from brokerwise.kernels import merging

TOPICS = st.lists(
    st.tuples(WEIGHTED.map(lambda topic: topic[0]), st.lists(st.integers(1, 5))).map(
        lambda topic: (topic[0], topic[1][:4] or [1])
    ),
    max_size=3,
)


def by_hand(topics: list[Topic], size: int, largest: int) -> int:
    best = 0
    for served in product(*(range(len(weights) + 1) for _, weights in topics)):
        value = load = 0
        for (rate, weights), n in zip(topics, served, strict=True):
            held = largest // rate - 1
            if n and held < 1:
                load = size + 1
            elif n:
                load += rate * (n - (-n // held))
                value += rate * sum(sorted(weights)[::-1][:n])
        if load <= size:
            best = max(best, value)
    return best


@settings(max_examples=examples(100))
@given(topics=TOPICS, size=st.integers(0, 60), largest=st.integers(2, 40))
def test_every_set_up_that_is_needed_is_paid(
    topics: list[Topic], size: int, largest: int
) -> None:
    found = merging.most_in_one(*arrays(topics), size, largest)
    assert found == by_hand(topics, size, largest)
    with interpreted(merging):
        assert merging.most_in_one(*arrays(topics), size, largest) == found
