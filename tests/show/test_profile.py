"""The report of a profile."""

import json
from typing import Any

import numpy as np
import pytest
from tests.show.reading import Reader

from brokerwise.kernels.profile import profile_of, tally
from brokerwise.show.profile import answer
from brokerwise.show.reports import render

FOLLOWERS, RATE, RATE_BY_FOLLOWERS, CARDINALITY, CARDINALITY_BY_FOLLOWINGS = range(5)


def result_of(
    rates: list[int], lists: list[list[int]], message_bytes: int = 200
) -> dict[str, Any]:
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    topics = np.array([t for wanted in lists for t in wanted], np.int32)
    every = np.array(rates, np.int64)
    counts = tally(every, [(offsets, topics)])
    return profile_of(every, counts, 864_000, message_bytes).as_json() | {
        "kind": "profile",
        "workload": "out/<work>&load",
        "digest": "ab12" * 16,
        "version": "9.8.7",
        "command": "brokerwise profile 'out/<work>&load'",
        "seconds": {"session": 1.25, "total": 2.5},
    }


@pytest.fixture
def four_topics() -> dict[str, Any]:
    """Topic 3 has no subscriber, the last subscriber no topic."""
    return result_of([6_000, 300, 10, 2], [[0], [0, 1, 2], [2], []])


def test_the_report_holds_the_numbers(four_topics: dict[str, Any]) -> None:
    text = Reader(render(four_topics)).text
    assert "4 subscribers want 4 topics in 5 pairs" in text
    assert "10 days bring 6,312 messages and 12,320 deliveries" in text
    assert "Topics 4 1 without a subscriber" in text
    assert "Subscribers 4 1 without a topic" in text
    assert "Load if one broker served all 18,630" in text
    assert "followers per topic 1 2 2 2 1.25" in text
    assert "followings per subscriber 1 3 3 3 1.25" in text
    assert "rate per topic 10 6,000 6,000 6,000 1,578" in text
    assert "Largest subscriber receives > 99.9 % of all" in text


def test_the_report_says_how_to_repeat_it(four_topics: dict[str, Any]) -> None:
    text = Reader(render(four_topics)).text
    assert "Workload out/<work>&load" in text
    assert "Digest of the workload " + "ab12" * 16 in text
    assert "Command brokerwise profile 'out/<work>&load'" in text
    assert "Brokerwise 9.8.7" in text
    assert "session 1.2 s, total 2.5 s" in text


def test_the_report_can_be_made_again_from_what_it_holds(
    four_topics: dict[str, Any],
) -> None:
    html = render(four_topics)
    held = Reader(html).data("result")
    assert held == json.loads(json.dumps(four_topics))
    assert render(held) == html


def test_curves_are_steps_through_the_exact_points(
    four_topics: dict[str, Any],
) -> None:
    specs = Reader(render(four_topics)).data("plots")
    followers, followings = specs[FOLLOWERS]["series"]
    assert followers["x"] == [1 / 1.5, 1, 2]
    assert followers["y"] == [0.75, 0.5, 0.5]
    assert followers["hover"] == [
        "75 % of topics have any",
        "50 % of topics (2 of 4) have more than 1 followers",
        "the largest: 2 followers",
    ]
    assert followings["x"] == [1 / 1.5, 1, 3]
    assert followings["y"] == [0.75, 0.25, 0.25]
    assert specs[RATE]["series"][0]["x"] == [2 / 1.5, 2, 10, 300, 6_000]
    assert specs[RATE]["series"][0]["y"] == [1, 0.75, 0.5, 0.25, 0.25]
    cardinality = specs[CARDINALITY]["series"][0]
    assert cardinality["x"][1:] == [
        100 * received / 6_312 for received in (10, 6_000, 6_310)
    ]
    assert cardinality["y"] == [0.75, 0.5, 0.25, 0.25]


def test_means_are_points(four_topics: dict[str, Any]) -> None:
    specs = Reader(render(four_topics)).data("plots")
    by_followers = specs[RATE_BY_FOLLOWERS]["series"][0]
    assert (by_followers["x"], by_followers["y"]) == ([1, 2], [300, 3_005])
    assert by_followers["hover"][1] == "2 topics with 2 followers: mean 3,005 messages"
    by_followings = specs[CARDINALITY_BY_FOLLOWINGS]["series"][0]
    assert by_followings["x"] == [1, 3]
    assert by_followings["y"] == [100 * 3_005 / 6_312, 100 * 6_310 / 6_312]
    text = Reader(render(four_topics)).text
    assert "1 point at zero cannot be shown" in text


def test_runs_of_values_are_drawn_in_their_middle() -> None:
    rates = [1] * 3_000
    lists = [list(range(n)) for n in range(1, 1_000)]
    result = result_of(rates, lists)
    spec = Reader(render(result)).data("plots")[CARDINALITY_BY_FOLLOWINGS]
    hover = next(text for text in spec["series"][0]["hover"] if " to " in text)
    assert hover.startswith("2 subscribers with 32 to 33 followings: mean 1.08 %")
    assert (32 * 33) ** 0.5 in spec["series"][0]["x"]


def test_a_uniform_workload_still_shows_curves() -> None:
    specs = Reader(render(result_of([10, 10], [[0, 1], [0, 1]]))).data("plots")
    assert specs[FOLLOWERS]["series"][0]["x"] == [2 / 1.5, 2]
    assert specs[FOLLOWERS]["series"][0]["y"] == [1, 1]
    assert len(specs) == 5


def test_an_empty_workload_has_a_report() -> None:
    reader = Reader(render(result_of([], [])))
    assert "Nobody wants anything: 0 topics, 0 subscribers, 0 pairs." in reader.text
    assert "There is nothing to plot." in reader.text


def test_zero_rates_have_a_report() -> None:
    reader = Reader(render(result_of([0, 0], [[0], [0, 1]])))
    assert "2 subscribers want 2 topics in 3 pairs" in reader.text
    assert len(reader.data("plots")) == 1


def test_bytes_are_called_bytes() -> None:
    result = result_of([6_000], [[0]], message_bytes=1)
    assert answer(result).startswith(
        "1 subscriber wants 1 topic in 1 pair: 10 days bring 6,000 bytes "
        "and 6,000 bytes delivered ("
    )
