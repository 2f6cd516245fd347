"""The order of a period's messages."""

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.replay.schedule import schedule


@given(st.lists(st.integers(0, 30), max_size=8))
def test_every_message_comes_once_within_the_period_and_in_order(
    counts: list[int],
) -> None:
    messages = list(schedule(counts))
    times = [at for at, _ in messages]
    assert times == sorted(times)
    assert all(0 <= at < 1 + 1e-9 for at in times)
    sent = Counter(index for _, index in messages)
    assert [sent[i] for i in range(len(counts))] == counts


@given(st.integers(1, 40), st.integers(1, 40))
def test_topics_take_turns_by_their_rates(a: int, b: int) -> None:
    """At no time is a topic more than a message ahead of or behind its share."""
    said = [0, 0]
    for at, index in schedule([a, b]):
        said[index] += 1
        for count, total in zip(said, (a, b), strict=True):
            assert abs(count - at * total) <= 1 + 1e-6


def test_topics_of_one_rate_do_not_speak_at_once() -> None:
    first = [at for at, _ in schedule([1] * 5)]
    assert min(b - a for a, b in pairwise(first)) > 0.05
