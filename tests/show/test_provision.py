"""The report of provisioning."""

import json
from typing import Any

import numpy as np
import pytest
from tests.show.reading import Reader

from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status
from brokerwise.show.provision import (
    answer,
    answer_of_several,
    budget_sentence,
    moves_sentence,
    number_lines,
    prices,
    served,
    untried,
)
from brokerwise.show.reports import render
from brokerwise.show.spending import spending

# An hour of such a period costs what it says, and a message is a gigabyte.
HOUR, GIGABYTE = 3600, 10**9
RATES = np.array([10, 4], np.int64)
LADDER, MONEY, LOADS, TOPICS = range(4)
BY_THRESHOLD, SPLIT, STEPS, FULLNESS = range(4)


def plan_of(threshold: int = 14) -> Plan:
    """Topic 0 on both brokers, for two subscribers and for one; topic 1 on one."""
    fleet = Fleet.types(
        BrokerType("small", 30, hour_usd=3.0),
        BrokerType("<b>big</b>", 60, count=4, hour_usd=5.0),
        gigabyte_usd=2.0,
        gigabyte_in_usd=1.0,
    )
    return Plan(
        kind="provision",
        algorithm="shared+tight",
        status=Status.FEASIBLE,
        objective=100.0,
        bound=90.0,
        fleet=fleet,
        brokers=Brokers(np.array([0, 1]), np.array([30, 60]), np.array([30, 28])),
        selection=Interests(np.array([0, 2, 3, 4]), np.array([0, 1, 0, 0])),
        placement=Placement(
            np.array([0, 0, 1], np.int32),
            np.array([0, 1, 1], np.int32),
            np.array([2, 1, 1]),
        ),
        threshold=threshold,
    )


def result_of(threshold: int = 14, **changed: Any) -> dict[str, Any]:
    """What the command prints of that plan, and the details of a report."""
    step = {"selection": "greedy", "packing": "first-fit", "brokers": 3, "load": 70}
    result = {
        "kind": "provision",
        "status": "feasible",
        "objective": 100.0,
        "bound": 90.0,
        "gap": 0.1,
        "algorithm": "shared+tight",
        "threshold": threshold,
        "types": [
            _type("small", 1, 30, 3.0, None),
            _type("<b>big</b>", 1, 60, 5.0, 4),
        ],
        "gigabyte_usd": 2.0,
        "gigabyte_in_usd": 1.0,
        "prices_assumed": False,
        "brokers": 2,
        "load": 58,
        "cost": 100.0,
        "cost_brokers": 8.0,
        "cost_bandwidth": 92.0,
        "cost_month": 73_000.0,
        "incoming": 24,
        "outgoing": 34,
        "pairs": 4,
        "pairs_wanted": 9,
        "subscribers": 3,
        "load_bound": 54,
        "brokers_bound": 2,
        "bound_paper": 60.0,
        "gap_paper": 0.4,
        "modest": 2,
        "own_thresholds": False,
        "left_out": 1,
        "options": {"rounds": 1},
        "seed": 7,
        "period_seconds": HOUR,
        "message_bytes": GIGABYTE,
        "out": f"out/{threshold}",
        "digest": "ab12" * 16,
        "seconds": {"session": 0.0, "total": 2.5},
        "details": {
            "steps": [
                {"name": "naive", "cost": 200.0, **step},
                {"name": "(a)", "cost": None, **step},
                {"name": "ours", "cost": 100.0, **step},
            ],
            "spending": spending(
                plan_of(threshold), RATES, ["<i>a</i>", "b"], HOUR, GIGABYTE
            ),
        },
        **_RUN,
    }
    return result | changed


_RUN = {
    "workload": "out/<work>&load",
    "workload_digest": "cd34" * 16,
    "version": "9.8.7",
    "command": "brokerwise provision 'out/<work>&load' --threshold 14",
}


def _type(
    name: str, brokers: int, capacity: int, hour_usd: float, limit: int | None
) -> dict[str, Any]:
    return {
        "type": name,
        "brokers": brokers,
        "capacity": capacity,
        "hour_usd": hour_usd,
        "limit": limit,
    }


def several(*results: dict[str, Any]) -> dict[str, Any]:
    seconds = {"session": 0.0, "total": 4.0}
    plans = list(results)
    return {"kind": "provision", **_RUN, "plans": plans, "seconds": seconds}


def test_money_is_told_by_type_by_traffic_and_by_topic() -> None:
    money = spending(plan_of(), RATES, ["a", "b"], HOUR, GIGABYTE)
    assert [(kind["type"], kind["usd"]) for kind in money["rent"]] == [
        ("small", 3.0),
        ("<b>big</b>", 5.0),
    ]
    assert money["incoming_usd"] == 10 * 2 + 4
    assert money["outgoing_usd"] == 2 * (10 * 3 + 4)
    first, second = money["topics"]
    # Its traffic, all of the small broker, and 20 of the 28 that the big one carries.
    assert first["usd"] == pytest.approx(20 + 60 + 3 + 5 * 20 / 28)
    assert second["usd"] == pytest.approx(4 + 8 + 5 * 8 / 28)
    assert first["usd"] + second["usd"] == pytest.approx(24 + 68 + 8)
    assert money["curve"]["topics"] == [1, 2]
    assert money["curve"]["shares"][-1] == 1
    assert money["cut"]["topics"] == 1
    assert money["cut"]["usd"] == 10
    assert [topic["name"] for topic in money["cut"]["most"]] == ["a"]
    assert money["loads"]["share"] == [1.0, 28 / 60]


def test_many_brokers_are_sampled_from_the_fullest_to_the_emptiest() -> None:
    loads = np.arange(1, 1001)
    numbers = np.arange(1000, dtype=np.int32)
    runs = Placement(np.zeros_like(numbers), numbers, np.ones(1000, np.int64))
    plan = Plan(
        kind="provision",
        algorithm="",
        status=Status.FEASIBLE,
        objective=1.0,
        bound=1.0,
        fleet=Fleet.of(1000, 1000),
        brokers=Brokers(np.zeros(1000, np.int32), np.full(1000, 1000), loads),
        selection=None,
        placement=runs,
    )
    found = spending(plan, np.array([1], np.int64), ["a"], HOUR, 1)["loads"]
    assert found["brokers"] == 1000
    assert len(found["rank"]) == 200
    assert (found["share"][0], found["share"][-1]) == (1.0, 0.001)
    assert (found["broker"][0], found["broker"][-1]) == (999, 0)
    assert found["share"] == sorted(found["share"], reverse=True)


def test_the_report_holds_the_numbers() -> None:
    text = Reader(render(result_of())).text
    for said in (
        "2 brokers (1 small, 1 <b>big</b>) carry 4 pairs for $100.00 a period of "
        "1 hour ($73,000 a month); no plan is more than 10 % cheaper.",
        "Cost of a period $100.00 $73,000 a month",
        "Brokers 2 $8.00; the load needs at least 2",
        "Bandwidth $92.00 24 in, 34 out",
        "Certified bound $90.00 gap 10 %",
        "The paper's bound $60.00 gap 40 %",
        "Load 58 at least 54; brokers are 73.3 % full on average",
        "Pairs served 4 of 9 that are wanted",
        "Topics cut across brokers 1 of 2; to receive them again costs $10.00",
        "Below their threshold 2 2 subscribers want less than 14: they get everything",
        "Topics left out 1 1 topic is too large for every broker",
        "<i>a</i> 10 3 2 $86.57 86.6 %",
    ):
        assert said in text


def test_the_report_says_how_to_repeat_it() -> None:
    text = Reader(render(result_of())).text
    for said in (
        "Workload out/<work>&load",
        "Digest of the workload " + "cd34" * 16,
        "out/14 " + "ab12" * 16,
        "small carries 30 a period; <b>big</b> carries 60 a period, at most 4 of them",
        "small $3.00, <b>big</b> $5.00 an hour, $2.00 a gigabyte out and $1.00 in",
        "shared+tight, seed 7 certified bound after 1 round of ascent",
        "Command brokerwise provision 'out/<work>&load' --threshold 14",
        "Brokerwise 9.8.7",
        "session 0.0 s, total 2.5 s",
    ):
        assert said in text


@pytest.mark.parametrize("result", [result_of(), several(result_of(), result_of(20))])
def test_the_report_can_be_made_again_from_what_it_holds(
    result: dict[str, Any],
) -> None:
    html = render(result)
    held = Reader(html).data("result")
    assert held == json.loads(json.dumps(result))
    assert render(held) == html


def test_steps_stand_beside_the_bounds() -> None:
    specs = Reader(render(result_of())).data("plots")
    bars, certified, paper = specs[LADDER]["series"]
    assert specs[LADDER]["x"]["labels"] == ["naive", "ours"]
    assert (bars["style"], bars["y"]) == ("bar", [200, 100])
    assert (certified["y"], certified["dashed"]) == ([90, 90], True)
    assert paper["y"] == [60, 60]
    assert "no packing" in Reader(render(result_of())).text
    money = specs[MONEY]["series"][0]
    assert money["y"] == [3, 5, 24, 68]
    loads, capacity = specs[LOADS]["series"]
    assert loads["y"] == pytest.approx([100, 100 * 28 / 60])
    assert loads["hover"][1].startswith("broker 1 (&lt;b&gt;big&lt;/b&gt;) carries 28")
    assert capacity["y"] == [100, 100]
    assert specs[TOPICS]["series"][0]["x"] == [1, 2]


def test_without_steps_the_bounds_stand_beside_the_cost() -> None:
    result = result_of(steps_left_out="left out: they take too long")
    result["details"]["steps"] = []
    reader = Reader(render(result))
    assert reader.data("plots")[LADDER]["series"][0]["y"] == [60, 90, 100]
    assert "Steps left out: they take too long" in reader.text


def test_several_plans_are_drawn_against_their_thresholds() -> None:
    dearer: dict[str, Any] = {"cost": 150.0, "bound": 140.0, "cost_bandwidth": 142.0}
    result = several(result_of(), result_of(200, **dearer))
    reader = Reader(render(result))
    specs = reader.data("plots")
    cost, bound = specs[BY_THRESHOLD]["series"]
    assert (cost["x"], cost["y"]) == ([14, 200], [100, 150])
    assert (bound["y"], bound["dashed"]) == ([90, 140], True)
    assert cost["colour"] == bound["colour"]
    brokers, bandwidth = specs[SPLIT]["series"]
    assert specs[SPLIT]["stacked"]
    assert (brokers["y"], bandwidth["y"]) == ([8, 8], [92, 142])
    assert specs[STEPS]["series"][0]["y"] == [100, 50]
    assert [s["name"] for s in specs[FULLNESS]["series"]] == [
        *("fullest", "mean", "emptiest", "capacity")
    ]
    assert (
        "2 plans: from $100.00 (threshold 14, small + <b>big</b>) to $150.00 "
        "(threshold 200, small + <b>big</b>) a period of 1 hour." in reader.text
    )
    assert "small + <b>big</b> 200 2 $150.00 $73,000 $140.00 10 % $60.00" in reader.text


def test_a_plan_that_is_not_possible_is_in_the_table() -> None:
    keys = ("cost", "bound", "out", "digest", "brokers")
    nothing: dict[str, Any] = dict.fromkeys(keys)
    impossible = result_of(99, status="infeasible", reason="u needs a", **nothing)
    del impossible["details"]
    text = Reader(render(several(result_of(), impossible))).text
    assert "small + <b>big</b> 99 infeasible" in text
    assert "u needs a" in text
    assert "2 plans; 1 of them infeasible: from $100.00" in text
    assert answer_of_several([impossible]) == "None of 1 plan is possible."
    assert answer(impossible) == "infeasible: u needs a"


def test_thresholds_of_zero_have_a_linear_axis() -> None:
    specs = Reader(render(several(result_of(0), result_of(20)))).data("plots")
    assert not specs[BY_THRESHOLD]["x"]["log"]
    assert specs[BY_THRESHOLD]["series"][0]["x"] == [0, 20]


def test_moves_are_told_with_their_budget() -> None:
    moved: dict[str, Any] = {
        "moves": 37,
        "max_moves": 100,
        "added": 120,
        "removed": 80,
        "brokers_added": 1,
        "brokers_removed": 2,
        "cost_before": 340.2,
        "cost_fresh": 99.0,
    }
    result = result_of(pairs=24_000, **moved)
    assert moves_sentence(result) == (
        "37 of 24,000 pairs move (budget 100), 120 added, 80 removed; "
        "1 broker added, 2 removed; cost $340.20 -> $100.00, from scratch $99.00"
    )
    free = result | {"max_moves": None, "cost_before": None, "cost_fresh": None}
    assert moves_sentence(free | {"moves": 1}).startswith("1 of 24,000 pairs moves, ")
    assert moves_sentence(free).endswith("; cost $100.00")
    assert "Pairs that move 37 37 of 24,000 pairs move" in Reader(render(result)).text


def test_a_budget_is_part_of_the_answer() -> None:
    result = result_of(budget=95.0, affordable="unknown")
    assert "Budget: unknown: this plan costs $100.00" in Reader(render(result)).text
    both = Reader(render(several(result, result_of(20)))).text
    assert "unknown: this plan costs $100.00" in both


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"modest": 0}, []),
        ({"modest": 1}, ["1 subscriber wants less than 14: it gets everything"]),
        (
            {"modest": 3},
            ["all 3 subscribers want less than 14: everything is served"],
        ),
        (
            {"modest": 1, "subscribers": 1},
            ["1 subscriber wants less than 14: everything is served"],
        ),
        (
            {"pairs": 9},
            ["2 subscribers want less than 14; everything is served"],
        ),
        (
            {"own_thresholds": True},
            ["2 subscribers want less than their thresholds: they get everything"],
        ),
    ],
)
def test_those_who_want_less_are_told(changed: dict[str, Any], said: list[str]) -> None:
    assert list(served(result_of(**changed))) == said


def test_a_search_that_was_stopped_says_so() -> None:
    result = result_of(options={"rounds": 0, "stopped": "time"})
    assert "the search was stopped by --seconds" in Reader(render(result)).text


@pytest.mark.parametrize(
    ("gap", "is_said"), [(0.3, True), (0.01, True), (0.001, False)]
)
def test_what_was_not_tried_is_told_where_it_may_save_something(
    gap: float, is_said: bool
) -> None:
    options = {"rounds": 0, "not_tried": ["greedy+tight", "random+tight"]}
    result = result_of(options=options, gap=gap)
    said = "not tried: 2 other combinations of --selection and --packing"
    assert (said in Reader(render(result)).text) == is_said
    assert any(said in note for note in untried(result)) == is_said


def test_one_type_needs_no_name_beside_its_price() -> None:
    one = result_of(types=[_type("broker-30", 2, 30, 0.0052, None)], gigabyte_usd=1.0)
    assert prices(one) == "$0.0052 an hour, $1.00 a gigabyte"
    assert answer(one).startswith("2 brokers of capacity 30 carry 4 pairs")
    assumed = prices(one | {"prices_assumed": True})
    assert assumed.endswith("(as the paper has for c3.large, where none were given)")


@pytest.mark.parametrize(
    ("answer", "cost", "bound", "budget", "sentence"),
    [
        (
            *("no", 1_190.0, 1_188.36, 1_188.2),
            "no: every plan costs at least $1,188.36, which is above the budget of "
            "$1,188.20",
        ),
        (
            *("yes", 1_188.2, 1_100.0, 1_188.36),
            "yes: $1,188.20 is within the budget of $1,188.36",
        ),
        (*("yes", 108.0, 100.0, 108.0), "yes: $108.00 is within the budget of $108.00"),
        (
            *("unknown", 108.0004, 108.0001, 108.0002),
            "unknown: this plan costs $108.0004, every plan at least $108.0001, and "
            "the budget of $108.0002 is between them",
        ),
    ],
)
def test_a_budget_can_be_told_from_what_it_is_compared_with(
    answer: str, cost: float, bound: float, budget: float, sentence: str
) -> None:
    result = result_of(affordable=answer, cost=cost, bound=bound, budget=budget)
    assert budget_sentence(result) == sentence


@pytest.mark.parametrize(
    ("naive", "said"),
    [
        (200.0, "3 brokers, $200.00: you save 50 %"),
        (100.0, "3 brokers, $100.00: as much as this plan"),
        (69.5, "3 brokers, $69.50: 30.5 % less than this plan"),
    ],
)
def test_a_naive_plan_that_is_cheaper_saves_nothing(naive: float, said: str) -> None:
    result = result_of(naive={"brokers": 3, "cost": naive})
    assert dict(number_lines(result))["naive"] == said


def test_costs_that_differ_by_cents_are_told_apart() -> None:
    low, high = result_of(10, cost=1_188.2), result_of(99, cost=1_188.36)
    assert "from $1,188.20 (threshold 10" in answer_of_several([low, high])
    assert "to $1,188.36 (threshold 99" in answer_of_several([low, high])
    nothing = dict.fromkeys(("added", "removed", "brokers_added", "brokers_removed"), 0)
    moved = moves_sentence(
        result_of(
            *(14,),
            cost=1_188.2,
            cost_before=1_188.2 * (1 + 1e-15),
            cost_fresh=1_188.36,
            moves=1,
            max_moves=None,
            **nothing,
        )
    )
    assert moved.endswith("cost $1,188.20 -> $1,188.20, from scratch $1,188.36")


def test_what_is_unknown_is_told_from_what_is_infeasible() -> None:
    nothing = dict.fromkeys(("objective", "bound", "gap", "cost", "brokers", "out"))
    unknown = result_of(99, status="unknown", reason="none was found", **nothing)
    impossible = result_of(98, status="infeasible", reason="u needs a", **nothing)
    assert answer(unknown) == "unknown: none was found"
    several = {**_RUN, "kind": "provision", "plans": [result_of(), unknown, impossible]}
    text = Reader(render(several)).text
    assert "small + <b>big</b> 99 unknown" in text
    assert "none was found" in text
    assert "3 plans; 1 of them infeasible; 1 of them unknown: from $100.00" in text
    assert answer_of_several([unknown, impossible]) == "None of 2 plans was found."
    assert answer_of_several([impossible] * 2) == "None of 2 plans is possible."
