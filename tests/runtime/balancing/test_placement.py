"""Which broker a session goes to."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.balancing.placement import (
    POLICIES,
    Candidate,
    PlannedLoad,
    at_random,
    most_room,
    nearest,
    round_robin,
)

THREE = [
    Candidate("a", (0.0, 0.0)),
    Candidate("b", (1.0, 0.0)),
    Candidate("c", None),
]


def test_nearest_takes_the_least_distance() -> None:
    assert nearest(THREE, (0.4, 0.0), 0) == "a"
    assert nearest(THREE, (0.6, 0.0), 0) == "b"


def test_of_equally_near_brokers_the_first_by_name_is_taken() -> None:
    assert nearest(THREE, (0.5, 7.0), 5) == "a"


def test_nearest_goes_by_turns_without_places() -> None:
    assert [nearest(THREE, None, turn) for turn in range(4)] == ["a", "b", "c", "a"]
    nowhere = [Candidate("a"), Candidate("b")]
    assert nearest(nowhere, (0.0, 0.0), 1) == "b"


def test_round_robin_gives_everyone_the_same() -> None:
    counts = Counter(round_robin(THREE, None, turn) for turn in range(30))
    assert set(counts.values()) == {10}


def test_random_gives_everyone_about_the_same_and_can_be_repeated() -> None:
    chosen = [at_random(THREE, None, turn) for turn in range(3000)]
    assert all(900 < count < 1100 for count in Counter(chosen).values())
    assert chosen == [at_random(THREE, None, turn) for turn in range(3000)]


@pytest.mark.parametrize("policy", POLICIES)
@given(
    names=st.sets(st.text(min_size=1), min_size=1, max_size=5),
    point=st.none() | st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
    turn=st.integers(0, 1 << 40),
)
def test_every_policy_names_a_candidate(
    policy: str, names: set[str], point: tuple[float, float] | None, turn: int
) -> None:
    candidates = [Candidate(name) for name in sorted(names)]
    assert POLICIES[policy](candidates, point, turn) in names


RATES = {"hot": 10, "warm": 3, "cold": 1}
pairs = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(list(RATES))))


@given(pairs=pairs, topics=st.sets(st.sampled_from(list(RATES))))
def test_planned_load_is_every_topic_in_once_and_out_to_each(
    pairs: list[tuple[str, str]], topics: set[str]
) -> None:
    planned = PlannedLoad({"a": 100, "b": 50, "c": None}, RATES)
    for broker, topic in pairs:
        planned.add(broker, [topic])

    def load(broker: str, more: set[str]) -> int:
        here = [t for b, t in pairs if b == broker] + list(more)
        return sum(RATES[t] for t in here) + sum(RATES[t] for t in set(here))

    for broker, capacity in (("a", 100), ("b", 50), ("c", 0)):
        assert planned.load(broker) == load(broker, set())
        assert planned.room_with(broker, topics) == capacity - load(broker, topics)


def test_most_room_counts_what_a_broker_carries_already() -> None:
    planned = PlannedLoad({"a": 100, "b": 100}, RATES)
    planned.add("a", ["hot"])  # 20 of load, but "hot" comes in already
    planned.add("b", ["warm", "cold"])  # 8
    candidates = [Candidate("a"), Candidate("b")]
    assert most_room(planned, candidates, ["cold"]) == "b"
    assert most_room(planned, candidates, ["hot"]) == "b"  # 28, on a it would be 30
    planned.add("b", ["warm"])  # 31
    assert most_room(planned, candidates, ["hot"]) == "a"


def test_a_broker_where_the_user_is_already_comes_last() -> None:
    planned = PlannedLoad({"a": 100, "b": 10}, RATES)
    candidates = [Candidate("a"), Candidate("b")]
    assert most_room(planned, candidates, ["hot"]) == "a"
    assert most_room(planned, candidates, ["hot"], {"a"}) == "b"
    assert most_room(planned, candidates, ["hot"], {"a", "b"}) == "a"
