"""A workload, against one made of dictionaries."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.errors import InputError
from brokerwise.model.interests import Interests
from brokerwise.model.names import Names
from brokerwise.model.workload import MOST, NO_THRESHOLD, PLAIN, Weights, Workload

# Characters whose order in UTF-16 is not that in UTF-8 are among them.
names = st.text(st.sampled_from("ab0é€\ufffd\U00010000 "), min_size=1, max_size=3)


@st.composite
def traces(draw: st.DrawFn) -> tuple[list[tuple[str, str]], dict[str, int]]:
    """Pairs (topic, subscriber), some repeated, and rates, some equal."""
    rates = draw(st.dictionaries(names, st.integers(0, 3), min_size=1, max_size=6))
    pair = st.tuples(st.sampled_from(sorted(rates)), names)
    return draw(st.lists(pair, max_size=15)), rates


def from_pairs(pairs: Sequence[tuple[str, str]], rates: dict[str, int]) -> Workload:
    return Workload.from_pairs(
        topics=[t for t, _ in pairs], subscribers=[s for _, s in pairs], rates=rates
    )


def contents(w: Workload) -> tuple[list[tuple[str, int]], list[tuple[str, list[int]]]]:
    """Topics with rates and subscribers with lists, in the order of their ids."""
    topics = list(zip(w.topic_names, w.rates.tolist(), strict=True))
    lists = [w.interests.of(v).tolist() for v in range(w.subscribers)]
    return topics, list(zip(w.subscriber_names, lists, strict=True))


@given(traces())
def test_from_pairs_numbers_topics_by_rate_and_subscribers_by_name(
    trace: tuple[list[tuple[str, str]], dict[str, int]],
) -> None:
    pairs, rates = trace
    topics = sorted(rates.items(), key=lambda t: (-t[1], t[0].encode()))
    number = {name: i for i, (name, _) in enumerate(topics)}
    wanted: dict[str, set[int]] = {}
    for topic, subscriber in pairs:
        wanted.setdefault(subscriber, set()).add(number[topic])
    lists = [(s, sorted(wanted[s])) for s in sorted(wanted, key=str.encode)]

    found = from_pairs(pairs, rates)

    assert contents(found) == (topics, lists)
    assert found.pairs == len(set(pairs))
    followers = [len({s for t, s in pairs if t == name}) for name, _ in topics]
    assert found.followers().tolist() == followers


@given(traces(), st.randoms(use_true_random=False))
def test_the_order_of_pairs_and_rates_does_not_matter(
    trace: tuple[list[tuple[str, str]], dict[str, int]], random: Any
) -> None:
    pairs, rates = trace
    shuffled, topics = list(pairs) * 2, list(rates)
    random.shuffle(shuffled)
    random.shuffle(topics)
    again = from_pairs(shuffled, {topic: rates[topic] for topic in topics})
    assert contents(again) == contents(from_pairs(pairs, rates))


def test_whole_number_labels_are_names_in_decimal() -> None:
    by_number = Workload.from_pairs(
        topics=[10, 9, 9], subscribers=[2, 10, 2], rates=dict.fromkeys([9, 10], 5)
    )
    by_text = Workload.from_pairs(
        topics=["10", "9", "9"], subscribers=["2", "10", "2"], rates={"9": 5, "10": 5}
    )
    assert contents(by_number) == contents(by_text)
    assert list(by_number.topic_names) == ["10", "9"]
    assert list(by_number.subscriber_names) == ["10", "2"]


LABELS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "numpy text": np.array,
    "numpy objects": lambda labels: np.array(labels, object),
    "pandas": lambda labels: pd.Series(labels, index=range(5, 5 + len(labels))),
    "pandas text": lambda labels: pd.Series(labels, dtype="string"),
    "pandas categories": lambda labels: pd.Series(labels).astype("category"),
    "Arrow": pa.array,
    "Arrow slice": lambda labels: pa.array(["other", *labels])[1:],
    "Arrow chunks": lambda labels: pa.chunked_array([labels[:1], labels[1:]]),
    "Arrow dictionary": lambda labels: pa.array(labels).dictionary_encode(),
    "bytes": lambda labels: [label.encode() for label in labels],
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_may_come_in_any_container(kind: str) -> None:
    found = Workload.from_pairs(
        topics=LABELS[kind](["news", "é", "news"]),
        subscribers=LABELS[kind](["u2", "u1", "u1"]),
        rates={"news": 7, "é": 8},
    )
    assert contents(found) == (
        [("é", 8), ("news", 7)],
        [("u1", [0, 1]), ("u2", [1])],
    )


RATES: dict[str, Any] = {
    "list": [5, 9],
    "numpy": np.array([5, 9]),
    "small numpy": np.array([5, 9], np.uint8),
    "unsigned numpy": np.array([5, 9], np.uint64),
    "objects": np.array([5, 9], object),
    "list of numpy": [np.int16(5), np.uint64(9)],
    "Arrow": pa.array([5, 9]),
    "Arrow chunks": pa.chunked_array([[5], [9]]),
    "pandas": pd.Series([5, 9]),
    "pandas by topic": pd.Series([9, 5], index=["1", "0"]),
    "by number": {0: 5, 1: np.int64(9)},
    "by numpy number": {np.int64(0): 5, np.int64(1): 9},
    "by text": {"1": 9, "0": 5},
    "range": range(5, 10, 4),
}


@pytest.mark.parametrize("kind", RATES)
def test_rates_may_come_in_any_container(kind: str) -> None:
    found = Workload.from_pairs(topics=[0], subscribers=["u"], rates=RATES[kind])
    assert contents(found) == ([("1", 9), ("0", 5)], [("u", [1])])
    assert found.rates.dtype == np.int64


@pytest.mark.parametrize(
    ("rates", "text"),
    [
        ({"a": 1.0}, r"rate of topic 'a': found 1\.0, expected a whole number from 0"),
        ({"a": True}, "rate of topic 'a': found True, expected a whole number"),
        ({"a": "1"}, "rate of topic 'a': found '1', expected a whole number"),
        ({"b": 1, "a": -1}, "rate of topic 'a': found -1, expected a whole number"),
        ({"b": 1, "a": None}, "rate of topic 'a': found None, expected a whole"),
        ({"a": 2**63}, "rate of topic 'a': found 9,223,372,036,854,775,808, expected"),
        ([1, 2.5], r"rate of topic '1': found 2\.5, expected a whole number"),
        ([1, True], "rate of topic '1': found True, expected a whole number"),
        (np.array([1.0]), r"rate of topic '0': found 1\.0, expected a whole number"),
        (np.array([True]), "rate of topic '0': found True, expected a whole number"),
        (np.array([2**63], np.uint64), "rate of topic '0': found 9,223,372,036,854"),
        (pa.array([1, None]), "rate of topic '1': found None, expected a whole"),
        ({"": 1}, "topics of rates: found an empty name"),
        ({"a": 1, 2: 1}, "topics of rates: expected names, all text or all whole"),
        (pd.Series([1, 2], index=["a", "a"]), "rates: found a topic twice"),
        ({"a": 2**62, "b": 2**62}, "total rate of all topics and pairs: found 9.22e"),
    ],
)
def test_bad_rates_are_refused_with_their_topic(rates: Any, text: str) -> None:
    with pytest.raises(InputError, match=f"^{text}"):
        Workload.from_pairs(topics=[], subscribers=[], rates=rates)


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (["a", 1], "expected names, all text or all whole numbers: "),
        ([1, "a"], "expected names, all text or all whole numbers: "),
        ([1.0, 2.0], "expected names, all text or all whole numbers: found double"),
        ([True, False], "expected names, all text or all whole numbers: found bool"),
        ([[1], [2]], "expected names, all text or all whole numbers: found list"),
        (
            ["a", "\ud800"],
            "expected names, all text or all whole numbers: .*surrogates",
        ),
        ([b"a", b"\xff"], "expected names, all text or all whole numbers: .*UTF8"),
        ([1, 2**70], "expected names, all text or all whole numbers: .* too large"),
        (["a", ""], "found an empty name"),
        (["a", None], "found an empty name"),
        (["a", "é" * 513], "found a name of 1,026 bytes, expected at most 1,024"),
    ],
)
@pytest.mark.parametrize("field", ["topics", "subscribers"])
def test_bad_labels_are_refused_with_their_field(
    field: str, labels: Any, text: str
) -> None:
    given_labels = {"topics": [0, 0], "subscribers": [0, 0]} | {field: labels}
    with pytest.raises(InputError, match=f"^{field}: {text}"):
        Workload.from_pairs(**given_labels, rates=[1])


def test_a_name_of_a_kilobyte_is_accepted() -> None:
    found = Workload.from_pairs(topics=[0], subscribers=["é" * 512], rates=[1])
    assert found.subscriber_names[0] == "é" * 512


def test_a_topic_without_a_rate_is_named() -> None:
    with pytest.raises(InputError, match="topic 'b' is wanted but has no rate"):
        Workload.from_pairs(
            topics=pd.Series(["a", "b"], index=[7, 8]),
            subscribers=["u", "u"],
            rates={"a": 1},
        )
    with pytest.raises(InputError, match="topic '-1' is wanted but has no rate"):
        Workload.from_pairs(topics=[-1], subscribers=["u"], rates=[1])


def test_as_many_topics_as_subscribers_are_needed() -> None:
    with pytest.raises(InputError, match="pairs: 2 topics but 1 subscribers"):
        Workload.from_pairs(topics=[0, 0], subscribers=["u"], rates=[1])


@pytest.mark.parametrize("rates", [{}, [], np.zeros(0, np.int64), pa.array([])])
def test_nothing_at_all_is_a_workload(rates: Any) -> None:
    empty = Workload.from_pairs(topics=[], subscribers=[], rates=rates)
    assert (empty.topics, empty.subscribers, empty.pairs) == (0, 0, 0)
    assert empty.followers().tolist() == []


def test_a_million_rates_are_looked_at_all_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def one_by_one(*_: object) -> None:
        raise AssertionError("looked at one by one")

    monkeypatch.setattr("brokerwise.model.names.checked_count", one_by_one)
    found = Workload.from_pairs(topics=[], subscribers=[], rates=np.arange(10**6))
    assert found.topic_names[0] == "999999"
    assert found.rates[-1] == 0


@pytest.fixture
def two_topics() -> Workload:
    """u1 wants news (9) and sport (4); u2 wants sport."""
    return Workload(
        rates=np.array([9, 4]),
        interests=Interests(np.array([0, 2, 3]), np.array([0, 1, 1], np.int32)),
        topic_names=Names.of(["news", "sport"]),
        subscriber_names=Names.of(["u1", "u2"]),
    )


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"rates": np.array([4, 9])}, "rates must not rise: topics go by descending"),
        (
            {"rates": np.array([4, -9])},
            "rate of topic 'sport': found -9, expected >= 0",
        ),
        ({"rates": np.array([9.0, 4.0])}, "rates of workload: found float64 of shape"),
        ({"rates": np.array([9])}, "topic_names: found 2, expected 1"),
        ({"topic_names": Names.of(["a"])}, "topic_names: found 1, expected 2"),
        (
            {"subscriber_names": Names.of(["a"])},
            "subscriber_names: found 1, expected 2",
        ),
        (
            {"subscriber_names": Names.of(["u2", "u1"])},
            "subscriber_names: found 'u1' after 'u2', expected names in UTF-8 byte",
        ),
        (
            {"subscriber_names": Names.of(["u", "u"])},
            "subscriber_names: found 'u' after 'u', expected .* each once",
        ),
        (
            {"rates": np.array([4, 4]), "topic_names": Names.of(["b", "a"])},
            "topic_names: found 'a' after 'b', expected names in UTF-8 byte order",
        ),
        (
            {"interests": Interests(np.array([0, 0, 1]), np.array([2], np.int32))},
            "interests: found topic 2, expected below 2",
        ),
        (
            {"period_seconds": 0},
            "period_seconds: found 0, expected a whole number from",
        ),
        (
            {"period_seconds": 1.5},
            r"period_seconds: found 1\.5, expected a whole number",
        ),
        (
            {"message_bytes": -1},
            "message_bytes: found -1, expected a whole number from",
        ),
        ({"thresholds": np.array([1])}, "thresholds: found 1, expected 2"),
        ({"thresholds": np.array([1, -2])}, "thresholds: found -2, expected >= 0"),
        ({"thresholds": np.array([1.5, 2])}, "thresholds of workload: found float64"),
        (
            {"places": np.zeros(2)},
            r"places: found float64 of shape \(2,\), expected num",
        ),
        ({"places": np.zeros((2, 3))}, r"places: found float64 of shape \(2, 3\)"),
        ({"places": np.array([["a", "b"]] * 2)}, "places: found <U1 of shape"),
        ({"places": np.array([[0, np.inf]] * 2)}, "places: found an infinite coordina"),
        ({"publishers": np.zeros(3, int)}, "publishers: found 3, expected 2"),
        ({"publishers": np.array([1, -1])}, "publishers of topic '.*': found -1, exp"),
        ({"publishers": np.array([1, 0.5])}, "publishers of workload: found float64"),
        ({"processing_ms": [1.5, np.nan]}, "processing_ms of topic '.*': found nan"),
        ({"processing_ms": [1.5]}, "processing_ms: found 1, expected 2"),
        (
            {"rates": np.array([2**62, 0])},
            "total rate of all topics and pairs: found 9.22e",
        ),
    ],
)
def test_a_workload_that_cannot_be_is_refused_by_field(
    two_topics: Workload, fields: Any, text: str
) -> None:
    with pytest.raises(InputError, match=f"^{text}"):
        replace(two_topics, **fields)


def test_names_order_only_topics_of_equal_rate(two_topics: Workload) -> None:
    replace(two_topics, topic_names=Names.of(["sport", "news"]))


def test_thresholds_and_places_are_optional_for_each_subscriber(
    two_topics: Workload,
) -> None:
    places = np.array([[0, 1], [2, 3]])
    found = replace(two_topics, thresholds=np.array([5, NO_THRESHOLD]), places=places)
    assert found.thresholds is not None and found.places is not None
    assert found.thresholds.tolist() == [5, -1]
    assert found.places.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        found.places[0] = 0


def test_numbers_from_numpy_become_plain(two_topics: Workload) -> None:
    period: Any = np.int64(60)
    found = replace(two_topics, period_seconds=period)
    assert type(found.period_seconds) is int


def test_a_workload_is_built_from_numpy_without_a_copy(two_topics: Workload) -> None:
    rates = np.array([9, 4])
    held = replace(two_topics, rates=rates)
    assert np.shares_memory(held.rates, rates)
    with pytest.raises(ValueError, match="read-only"):
        held.rates[0] = 1


def test_a_workload_is_built_from_arrow() -> None:
    held = Workload(
        pa.array([9, 4]),
        Interests(pa.array([0, 1]), pa.array([1], pa.int32())),
        Names.from_arrow(pa.array(["news", "sport"])),
        Names.from_arrow(pa.array(["u1"])),
    )
    assert contents(held) == ([("news", 9), ("sport", 4)], [("u1", [1])])


def test_repr_gives_the_counts(two_topics: Workload) -> None:
    assert repr(two_topics) == (
        "Workload(2 topics, 2 subscribers, 3 pairs, period 864,000 s, 200 B messages)"
    )


@pytest.fixture
def two_by_three() -> Workload:
    """Two topics, three subscribers."""
    return Workload.from_pairs(
        topics=["a", "a", "b"], subscribers=["u", "v", "w"], rates={"a": 5, "b": 2}
    )


def test_without_weights_every_pair_counts_its_rate() -> None:
    assert PLAIN.plain
    assert Weights().plain
    assert not Weights(np.ones(2, np.int64)).plain
    assert not Weights(subscribers=np.ones(3, np.int64)).plain


def test_weights_may_be_lists_and_cannot_be_changed() -> None:
    topics: Any = [0, MOST]
    weights = Weights(topics)
    assert weights.topics is not None
    assert weights.topics.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        weights.topics[0] = 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, -1], "found -1, expected whole numbers from 0 to 1,000,000"),
        ([1, MOST + 1], "found 1,000,001, expected whole numbers from 0 to 1,000,000"),
        ([0.5, 1.0], "found float64 of shape"),
        ([[1, 2]], "found int64 of shape"),
        ([True], "found bool of shape"),
        (["1"], "found <U1 of shape"),
    ],
)
def test_what_is_no_weight_is_refused_by_name(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^topic_weights: {message}"):
        Weights(values)
    with pytest.raises(InputError, match=f"^subscriber_weights: {message}"):
        Weights(subscribers=values)


def test_there_is_one_for_each_topic_and_subscriber(two_by_three: Workload) -> None:
    two, three = np.ones(2, np.int64), np.ones(3, np.int64)
    PLAIN.check(two_by_three)
    Weights(two, three).check(two_by_three)
    with pytest.raises(
        InputError,
        match=r"^topic_weights: found 3, expected 2, one for each topic of the work",
    ):
        Weights(three, three).check(two_by_three)
    with pytest.raises(
        InputError, match=r"^subscriber_weights: found 2, expected 3, one for each sub"
    ):
        Weights(two, two).check(two_by_three)
