"""The report of a filled fleet, and what is said of one anywhere."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.show.reading import Reader

from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status
from brokerwise.show.fill import (
    answer,
    bounds,
    cut_short,
    effort,
    fill_details,
    heuristics,
    limit,
    share_text,
    split,
)
from brokerwise.show.reports import render

RATES, FOLLOWERS = np.array([10, 4, 4, 0]), np.array([3, 2, 1, 1])
VALUES, LOADS, BY_RATE, BY_FOLLOWERS = range(4)


def plan_of() -> Plan:
    """Two of three pairs of topic 0 on a large broker, topic 1 on a small one."""
    fleet = Fleet.types(BrokerType("broker-30", 30, 2), BrokerType("broker-13", 13, 1))
    return Plan(
        kind="fill",
        algorithm="columns",
        status=Status.FEASIBLE,
        objective=28.0,
        bound=32.0,
        fleet=fleet,
        brokers=Brokers(np.array([0, 1]), np.array([30, 13]), np.array([30, 12])),
        selection=Interests(np.array([0, 2, 4, 4]), np.array([0, 1, 0, 1])),
        placement=Placement(np.array([0, 1]), np.array([0, 1]), np.array([2, 2])),
    )


def result_of(**changed: Any) -> dict[str, Any]:
    """What the command prints of that plan, and the details of a report."""
    result = {
        "kind": "fill",
        "status": "feasible",
        "objective": 28.0,
        "bound": 32.0,
        "gap": 4 / 28,
        "algorithm": "columns",
        "brokers": 2,
        "load": 42,
        "delivered": 28,
        "delivered_percent": 100 * 28 / 42,
        "wanted": 42,
        "incoming": 14,
        "outgoing": 28,
        "pairs": 4,
        "bound_paper": 42,
        "gap_paper": 0.5,
        "greedy": 24,
        "mkp": 28,
        "patterns": 17,
        "left_out": 0,
        "weighted_wanted": None,
        "types": [
            {"type": "broker-30", "capacity": 30, "count": 2, "brokers": 1},
            {"type": "broker-13", "capacity": 13, "count": 1, "brokers": 1},
        ],
        "fleet": 3,
        "bandwidth": 73,
        "full": 2,
        "left_over": 2,
        "more": None,
        "pairs_wanted": 7,
        "warnings": [],
        "options": {"algorithm": "columns", "bound": "certified"},
        "seed": 5,
        "seconds": {"read": 0.1, "solve": 0.75, "total": 0.84},
        "out": "out/fill",
        "digest": "d1" * 32,
        "workload": "<b>w</b>",
        "workload_digest": "e2" * 32,
        "version": "0.1.0",
        "command": "brokerwise fill '<b>w</b>' --brokers 2x30,1x13",
    }
    details = {"details": fill_details(plan_of(), RATES, FOLLOWERS)}
    return result | details | changed


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {},
            "3 brokers deliver 66.66 % of the data (28 of 42). "
            "Proven best possible: 76.20 %.",
        ),
        (
            {"status": "optimal", "bound": 28.0, "fleet": 1, "brokers": 1},
            "1 broker delivers 66.66 % of the data (28 of 42). Proven optimal.",
        ),
        (
            {"weighted_wanted": 84},
            "3 brokers deliver 33.33 % of the weighted value (28 of 84) and 66.66 % of "
            "the data (28 of 42). Proven best possible: 38.10 % of the value.",
        ),
        (
            {"weighted_wanted": 0},
            "3 brokers deliver nothing: all that is wanted counts nothing.",
        ),
        ({"pairs_wanted": 4}, "2 of 3 brokers deliver all of the data (28)."),
        (
            {"pairs_wanted": 4, "brokers": 1},
            "1 of 3 brokers delivers all of the data (28).",
        ),
        ({"pairs_wanted": 4, "fleet": 2}, "2 brokers deliver all of the data (28)."),
        (
            {"pairs_wanted": 0, "pairs": 0},
            "Nothing is wanted: there is nothing to deliver.",
        ),
    ],
)
def test_the_answer_is_a_sentence_and_what_is_proven(
    changed: dict[str, Any], said: str
) -> None:
    assert answer(result_of(**changed)) == said


@given(part=st.integers(0, 10**6), more=st.integers(0, 10**6))
def test_shares_are_rounded_so_that_they_stay_true(part: int, more: int) -> None:
    whole = part + more + 1
    low, high = (
        float(share_text(part, whole, up=up).removesuffix(" %")) for up in (False, True)
    )
    share = 100 * part / whole
    assert low <= share + 1e-9
    assert low < 100
    assert high >= share - 1e-9
    assert high - low < 0.0101
    assert share_text(whole, whole) == "100.00 %"


def test_how_it_was_found_and_what_others_find() -> None:
    assert effort(result_of()) == "algorithm columns, 0.8 s, 17 patterns"
    assert heuristics(result_of()) == "greedy would give 57.14 %, mkp 66.66 %"
    assert heuristics(result_of(greedy=None)) == "mkp would give 66.66 %"
    alone = result_of(greedy=None, mkp=None, patterns=0, algorithm="mkp")
    assert (effort(alone), heuristics(alone)) == ("algorithm mkp, 0.8 s", "")
    assert heuristics(result_of(weighted_wanted=0)) == ""


def test_bounds_are_the_certified_one_and_the_papers() -> None:
    assert bounds(result_of()) == (
        "bounds: certified 32 (gap 14.3 %), the paper's 42 (gap 50 %)"
    )
    paper = {"options": {"bound": "paper"}}
    assert bounds(result_of(**paper, bound=42.0)) == "bound: the paper's 42 (gap 50 %)"
    assert bounds(result_of(**paper)) == (
        "bounds: 32 (gap 14.3 %) by all that fits, the paper's 42 (gap 50 %)"
    )
    assert "certified 32 (gap unknown)" in bounds(result_of(gap=None))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {},
            "binding: bandwidth on 2 of 3 brokers; the other has room for pairs that "
            "are not served",
        ),
        ({"full": 3}, "binding: bandwidth on all 3 brokers"),
        (
            {"full": 3, "more": 4},
            "binding: bandwidth on all 3 brokers; 4 more of this size would carry "
            "everything",
        ),
        (
            {"full": 1, "fleet": 1, "more": 1, "left_out": 2},
            "binding: bandwidth on the broker; 1 more of this size would carry "
            "everything that fits",
        ),
        (
            {"left_over": 0, "left_out": 2},
            "binding: the size of the brokers: everything that fits on one is served",
        ),
        (
            {"left_over": 0},
            "not binding: 31 of 73 (42.5 %) of the bandwidth is free",
        ),
        (
            {"options": {"total_bandwidth": 90, "max_broker": 30}},
            "binding: the total bandwidth, of which 48 is free",
        ),
    ],
)
def test_what_limits_it_is_said_in_words(changed: dict[str, Any], said: str) -> None:
    assert list(limit(result_of(**changed))) == [said]


def test_nothing_limits_a_plan_for_nothing() -> None:
    assert list(limit(result_of(pairs_wanted=0, left_over=0))) == []


def test_a_split_and_a_stop_are_said_where_there_was_one() -> None:
    assert [*split(result_of()), *cut_short(result_of())] == []
    result = result_of(options={"total_bandwidth": 90, "stopped": "time"})
    assert list(split(result)) == ["split: 2 x 30 + 1 x 13, of 90 in all"]
    assert list(cut_short(result)) == [
        "the search was stopped by --seconds: another run may end elsewhere"
    ]


def test_brokers_too_large_for_patterns_are_said_to_be() -> None:
    result = result_of(algorithm="columns", status="feasible", patterns=0)
    assert list(cut_short(result)) == [
        "brokers are too large for patterns: this is the better of greedy and mkp"
    ]
    for other in ({"patterns": 3}, {"status": "optimal"}, {"algorithm": "mkp"}):
        assert list(cut_short({**result, **other})) == []


def test_details_are_counted_from_the_plan() -> None:
    details = fill_details(plan_of(), RATES, FOLLOWERS)
    assert details["topics"] == {"wanted": 4, "whole": 1, "part": 1, "cut": 0}
    assert details["by_rate"] == {
        "low": [4, 10],
        "high": [4, 10],
        "topics": [2, 1],
        "wanted": [12, 30],
        "delivered": [8, 20],
    }
    loads = details["loads"]
    assert (loads["broker"], loads["load"]) == ([0, 1], [30, 12])
    assert loads["share"] == [1.0, 12 / 13]


@given(
    topics=st.lists(
        st.tuples(st.integers(0, 5_000), st.integers(0, 40)), min_size=1, max_size=60
    )
)
def test_groups_of_topics_add_up(topics: list[tuple[int, int]]) -> None:
    rates, followers = np.array(topics).T
    none, ids = np.zeros(0, np.int64), np.zeros(0, np.int32)
    nothing = Plan(
        kind="fill",
        algorithm="greedy",
        status=Status.FEASIBLE,
        objective=0.0,
        bound=9.0,
        fleet=Fleet.of(1, 9),
        brokers=Brokers(ids, none, none),
        selection=None,
        placement=Placement(ids, ids, none),
    )
    groups = fill_details(nothing, rates, followers)["by_rate"]
    wanted = [(rate, number) for rate, number in topics if rate and number]
    assert sum(groups["topics"]) == len(wanted)
    ends = list(zip(groups["low"], groups["high"], strict=True))
    assert len(ends) <= 13
    assert all(low <= high for low, high in ends)
    assert all(end < low for (_, end), (low, _) in pairwise(ends))
    for (low, high), data in zip(ends, groups["wanted"], strict=True):
        assert data == sum(r * n for r, n in wanted if low <= r <= high) > 0
    assert sum(groups["delivered"]) == 0


@pytest.mark.parametrize(
    ("rates", "low", "high"),
    [
        (range(1, 14), [1, 3, 5, 7, 9, 11, 13], [2, 4, 6, 8, 10, 12, 14]),
        (range(1, 41), [1, 2, 4, 8, 16, 32], [1, 3, 7, 15, 31, 63]),
        (range(7, 19), list(range(7, 19)), list(range(7, 19))),
    ],
)
def test_groups_are_single_values_or_wide_enough(
    rates: range, low: list[int], high: list[int]
) -> None:
    groups = fill_details(plan_of(), np.array(rates), np.ones(len(rates), int))
    assert (groups["by_rate"]["low"], groups["by_rate"]["high"]) == (low, high)


def test_the_page_says_it_all_and_escapes_names() -> None:
    html = render(result_of(warnings=['1 topic fits on no broker: "<i>x</i>"']))
    reader = Reader(html)
    assert "3 brokers deliver 66.66 % of the data (28 of 42)." in reader.text
    assert "What is the most that this fleet can deliver?" in reader.text
    assert "greedy would give 57.14 %" in reader.text
    assert '1 topic fits on no broker: "<i>x</i>"' in reader.text
    assert not {"i", "b"} & {tag for tag, _ in reader.elements}
    assert reader.data("result")["details"]["topics"]["wanted"] == 4
    assert "brokerwise fill '<b>w</b>' --brokers 2x30,1x13" in reader.text
    assert render(result_of()) == render(result_of())


def test_plots_show_values_loads_and_topics() -> None:
    drawn = Reader(render(result_of())).data("plots")
    assert len(drawn) == 4
    values = drawn[VALUES]
    assert values["x"]["labels"][0] == "greedy"
    assert values["series"][0]["y"] == pytest.approx(
        [100 * value / 42 for value in (24, 28, 28, 32, 42)]
    )
    assert drawn[LOADS]["series"][0]["y"] == pytest.approx([100, 100 * 12 / 13])
    assert drawn[BY_RATE]["stacked"]
    assert [series["y"] for series in drawn[BY_RATE]["series"]] == [[8, 20], [4, 10]]
    assert drawn[BY_FOLLOWERS]["x"]["labels"] == ["1", "2", "3"]


def test_what_was_not_computed_is_not_drawn() -> None:
    options = {"algorithm": "mkp", "bound": "paper"}
    result = result_of(greedy=None, mkp=None, options=options, algorithm="mkp")
    values = Reader(render(result)).data("plots")[VALUES]
    assert values["x"]["labels"] == ["this plan", "paper&#x27;s bound"]
    one_rate = result["details"] | {"by_rate": {"low": [4]}}
    assert len(Reader(render(result | {"details": one_rate})).data("plots")) == 3


def test_a_split_and_weights_have_their_facts() -> None:
    options = {"bound": "certified", "total_bandwidth": 90, "max_broker": 30}
    text = Reader(render(result_of(options=options, weighted_wanted=84))).text
    assert "at most 30 on one broker" in text
    assert "of 84, all that is wanted" in text
    assert "carry something, of 3: 2 x 30 + 1 x 13" in text
