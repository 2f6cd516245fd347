"""The reports of a live fleet's balance, and of what was proposed or done about it."""

from typing import Any

import pytest
from tests.show.reading import Reader
from tests.show.samples import SAMPLES

from brokerwise.show import moves
from brokerwise.show.reports import render


def proposed(**changed: Any) -> dict[str, Any]:
    return {**SAMPLES["moves decision"](), **changed}


def live(**changed: Any) -> dict[str, Any]:
    return {**SAMPLES["moves"](), **changed}


CHANGE = (
    "bring max load from 412 MB/s to 301 MB/s (best possible at least 298 MB/s) and "
    "cov from 0.31 to 0.02."
)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, f"37 moves would {CHANGE}"),
        (
            {"state": "running", "begun": 1.0},
            f"37 moves under way, which are to {CHANGE}",
        ),
        (
            {
                "state": "done",
                "begun": 1.0,
                "ended": 3.0,
                "outcome": "37 moves: 37 done",
            },
            f"37 moves: 37 done; they were to {CHANGE}",
        ),
        (
            {"proposal": None, "state": "noted", "reason": "balanced: cov 0.04"},
            "Nothing to improve: balanced: cov 0.04.",
        ),
    ],
)
def test_a_decision_is_told_as_far_as_it_has_come(
    changed: dict[str, Any], said: str
) -> None:
    result = proposed(**changed)
    assert moves.decision_answer(result) == said
    assert said in Reader(render(result)).text


def test_loads_are_drawn_before_and_after_with_the_best_possible() -> None:
    (loads,) = Reader(render(proposed())).data("plots")
    before, after, best = loads["series"]
    assert (before["y"], after["y"]) == ([288, 412], [300, 301])
    assert best["y"] == [298, 298] and best["dashed"]
    assert loads["y"]["title"] == "load, MB/s"
    assert loads["x"]["labels"] == ["b1", "b3"]
    assert "Total load 601 MB/s before 700 MB/s" in Reader(render(proposed())).text


def test_another_size_of_the_fleet_and_its_cost_are_told() -> None:
    cost = {"hour": 0.3, "hour_after": 0.45, "month": 219.0, "month_after": 328.5}
    found = proposed()["proposal"] | {"kind": "scale-out", "added": ["b3"]}
    text = Reader(render(proposed(proposal=found | {"cost": cost}))).text
    assert "Brokers 2 b3 starts" in text
    assert "Cost of an hour $0.45 before $0.30; of a month $328.50, before" in text


def test_times_are_the_same_wherever_they_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert "Made at 1970-01-01 00:00:00 UTC" in Reader(render(proposed())).text


def test_the_state_of_a_fleet_is_one_sentence() -> None:
    assert moves.answer(live()) == (
        "2 brokers: max load 2 kB/s with a mean of 1.5 kB/s, cov 0.33; 37 moves made "
        "by the last 3 decisions."
    )
    every = [{**each, "number": n} for n, each in enumerate(live()["decisions"], 1)]
    assert moves.answer(live(decisions=every)).endswith("; 37 moves made so far.")
    quiet = live(max_load=None, problem="b1 is deaf", decisions=[])
    assert moves.answer(quiet) == (
        "Loads are not known (b1 is deaf); nobody was moved yet."
    )
    assert "Loads are not known" in Reader(render(quiet)).text


def test_decisions_are_listed_and_those_carried_out_are_drawn() -> None:
    reader = Reader(render(live()))
    loads, cov = reader.data("plots")
    assert loads["series"][0]["y"] == [2, 1]
    assert loads["series"][1]["y"] == [1.5, 1.5]
    assert [series["y"] for series in cov["series"]] == [[0.312], [0.02]]
    assert "Decisions 3 1 of them were carried out" in reader.text
    assert "0.31 -> 0.02" in reader.text
