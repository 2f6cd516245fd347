"""The report of an overlay, and what is said of one anywhere."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.show.reading import Reader

from brokerwise.model.names import Names
from brokerwise.model.network import (
    THOUSANDTHS,
    Network,
    Published,
    Wanted,
    distances,
    shortest_paths,
)
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.model.plan import Status
from brokerwise.model.subchannels import Subchannels
from brokerwise.show import overlay as shown
from brokerwise.show.numbers import percent_up, short
from brokerwise.show.overlay import (
    answer,
    bound_line,
    cut_short,
    effort,
    limit,
    others,
    overlay_details,
    traffic,
)
from brokerwise.show.reports import render
from brokerwise.show.wiring_map import beside, colours, layout, scaled

MAP, COSTS, LOADS, LINKS = range(4)
PLACES = np.array([[0.0, 0.0], [30.0, 0.0], [30.0, 40.0]])
HOMES = np.array([[0.0, 4.0], [27.0, 0.0], [30.0, 3.0]])


def network_of(points: int | None = 2) -> Network:
    """User 0 publishes 5 in each of two sub-channels, users 1 and 2 want the first,
    user 1 the second, too; points have so many coordinates."""
    places, homes = PLACES, HOMES
    if points == 3:
        places, homes = (np.column_stack([p, 9 - p[:, 0]]) for p in (PLACES, HOMES))
    access, core = distances(homes, places), shortest_paths(distances(places, places))
    if points == 1:
        places, homes = places[:, :1], homes[:, :1]
    return Network(
        np.array([20, 30, 0]),
        access,
        core,
        Published(np.array([0, 2, 2, 2]), np.array([0, 1]), np.array([5, 5])),
        Wanted(np.array([0, 0, 2, 3]), np.array([0, 1, 0])),
        Subchannels.equal_width(["a"], 0, 1, 2),
        Names.of(["ann", "<b>bo</b>", "cy"]),
        Names.of(["x", "<i>y</i>", "z"]),
        3600,
        homes if points else None,
        places if points else None,
    )


SOURCES = np.array([[5, 0, 0], [5, 0, 0]])
USER_LOADS = np.array([10, 10, 5])


def plan_of() -> OverlayPlan:
    """User 0 on broker 0, the others on broker 1; broker 2 has nobody."""
    one = np.array([0, 0])
    return OverlayPlan(
        "local",
        Status.FEASIBLE,
        395_000,
        380_000,
        np.array([0, 1, 1]),
        np.array([10, 15, 0]),
        Trees(one, np.array([0, 1]), one, np.array([1, 1])),
    )


def result_of(points: int | None = 2, **changed: Any) -> dict[str, Any]:
    """What the command prints of that plan, and the details of a report."""
    result = {
        "kind": "overlay",
        "status": "feasible",
        "objective": 395.0,
        "bound": 380.0,
        "gap": 15 / 395,
        "algorithm": "local",
        "tree": False,
        "brokers": 2,
        "load": 25,
        "access": 85.0,
        "core": 310.0,
        "cost": 395.0,
        "bound_access": 80.0,
        "bound_core": 300.0,
        "crr": 2.5,
        "random": 987.5,
        "greedy": 395.0,
        "clustering": 474.0,
        "steiner": 1234567.0,
        "moves": 1204,
        "rounds": 3,
        "start": "greedy",
        "most_load": 15,
        "users": 3,
        "fleet": 3,
        "capacity": 50,
        "subchannels": 2,
        "full": 0,
        "kept": 0,
        "period_seconds": 3600,
        "options": {"algorithm": "local"},
        "seed": 5,
        "seconds": {"read": 0.1, "local": 0.75, "total": 0.84},
        "out": "out/overlay",
        "digest": "d1" * 32,
        "network": "<b>n</b>",
        "network_digest": "e2" * 32,
        "version": "0.1.0",
        "command": "brokerwise overlay '<b>n</b>' --seed 5",
    }
    plan, network = plan_of(), network_of(points)
    details = overlay_details(plan, network, SOURCES, USER_LOADS)
    return result | {"details": details} | changed


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {},
            "3 users on 2 of 3 brokers cost 395 (access 85, core 310); no wiring is "
            "more than 3.8 % cheaper; random wiring would cost 2.5 times as much.",
        ),
        (
            {"status": "optimal", "bound": 395.0, "fleet": 2, "crr": None},
            "3 users on 2 brokers cost 395 (access 85, core 310), the least possible.",
        ),
        (
            {"users": 1, "brokers": 1, "fleet": 1, "bound": 0.0, "random": 395.0},
            "1 user on 1 broker costs 395 (access 85, core 310), with nothing proven "
            "about the best possible.",
        ),
        ({"users": 0}, "There are no users: there is nothing to wire."),
        (
            {"load": 0},
            "Nothing is sent that somebody else wants: this costs nothing.",
        ),
        (
            {"status": "infeasible", "reason": "capacity of all brokers is 1"},
            "infeasible: capacity of all brokers is 1",
        ),
    ],
)
def test_the_answer_is_a_sentence_with_what_is_proven(
    changed: dict[str, Any], said: str
) -> None:
    assert answer(result_of(**changed)) == said


@given(st.floats(1e-9, 1e6))
def test_at_most_is_never_less(share: float) -> None:
    text = percent_up(share).removesuffix(" %").replace(",", "")
    if "\N{MULTIPLICATION SIGN}" in text:
        return
    assert float(text) >= 100 * share * (1 - 1e-8)
    assert float(text) <= 100 * share * 1.011 + 1


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (873.4, "873"),
        (999.6, "1 k"),
        (45_200, "45.2 k"),
        (1_190_000, "1.19 M"),
        (2.5e9, "2.5 G"),
        (7e12, "7 T"),
    ],
)
def test_costs_in_brackets_are_short(number: float, text: str) -> None:
    assert short(number) == text


def test_how_it_was_found_and_what_others_cost() -> None:
    assert effort(result_of()) == (
        "algorithm local, 0.8 s, 1,204 moves in 3 rounds, the best from greedy"
    )
    assert others(result_of()) == (
        "greedy would cost 395 (the same), clustering 474 (20 % more), "
        "steiner 1.23 M (312,449 % more)"
    )
    plain = result_of(
        clustering=None, steiner=None, moves=0, algorithm="greedy", tree=True
    )
    assert effort(plain) == "algorithm greedy on one tree, 0.8 s"
    assert others(plain) == ""
    dearer = result_of(greedy=316.0, clustering=None, steiner=None)
    assert others(dearer) == "greedy would cost 316 (20 % less)"
    assert others(result_of(cost=0.0, steiner=None)) == (
        "greedy would cost 395, clustering 474"
    )


def test_the_answer_and_the_bound_have_one_gap() -> None:
    found = result_of(objective=14.0, bound=13.0, gap=1 / 14)
    assert "; no wiring is more than 7.15 % cheaper; " in answer(found)
    assert "bound: 13 (gap 7.15 %)" in bound_line(found)  # rounded up, so it is true


def test_the_bound_says_what_it_is_made_of_if_it_knows() -> None:
    assert bound_line(result_of()) == "bound: 380 (gap 3.8 %) = access 80 + core 300"
    for changed in ({"bound_core": None}, {"algorithm": "ilp"}):
        assert bound_line(result_of(**changed)) == "bound: 380 (gap 3.8 %)"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {},
            [
                "not binding: no full broker keeps a user from a cheaper link; "
                "50 % of the capacity is free"
            ],
        ),
        (
            {"full": 2, "kept": 1},
            [
                "binding: capacity of 2 of 3 brokers; 1 user would have a cheaper "
                "link there"
            ],
        ),
        ({"load": 0}, []),
    ],
)
def test_what_limits_it_is_said_in_words(
    changed: dict[str, Any], said: list[str]
) -> None:
    assert list(limit(result_of(**changed))) == said


def test_a_stop_is_said_where_there_was_one() -> None:
    assert list(cut_short(result_of())) == []
    assert list(cut_short(result_of(options={"stopped": "time"}))) == [
        "the search was stopped by --seconds: another run may end elsewhere"
    ]


def test_traffic_crosses_a_link_once_for_each_tree_it_is_in() -> None:
    both = np.array([0, 1, 1, 2])
    trees = Trees(
        both, np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0]), np.array([1, 0, 2, 1])
    )
    rates = np.array([[3, 4, 0], [0, 50, 600]])
    plan = replace(plan_of(), trees=trees)
    assert traffic(plan, rates).tolist() == [[0, 607, 0], [0, 0, 50], [0, 0, 0]]


def test_details_are_plain_and_count_the_plan() -> None:
    details = result_of()["details"]
    assert json.loads(json.dumps(details)) == details
    assert details["brokers"]["users"] == [1, 2, 0]
    assert details["brokers"]["load"] == [10, 15, 0]
    assert details["users"]["link"] == [4.0, 3.0, 3.0]
    assert details["users"]["load"] == [10, 10, 5]
    assert details["links"] == {
        "total": 1,
        "traffic_total": 10,
        "a": [0],
        "b": [1],
        "traffic": [10],
        "cost": [30.0],
    }


@pytest.mark.parametrize(
    ("points", "how"), [(1, "line"), (2, "points"), (3, "plane"), (None, "costs")]
)
def test_maps_are_drawn_of_any_coordinates_or_none(
    points: int | None, how: str
) -> None:
    result = result_of(points)
    assert result["details"]["how"] == how
    reader = Reader(render(result))
    drawn = reader.data("plots")[MAP]
    assert drawn["map"]
    assert drawn["x"]["title"] == ("x" if points == 2 else "")
    squares = drawn["series"][-1]
    assert squares["symbol"] == ["square", "square", "square-open"]
    places = np.column_stack([squares["x"], squares["y"]])
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2))
    if points != 1:
        core = network_of(points).core / THOUSANDTHS
        assert apart == pytest.approx(core, abs=0.002)
    assert ("multidimensional scaling" in reader.text) == (how == "costs")
    assert ("height on this map says nothing" in reader.text) == (how == "line")


def test_points_on_a_map_are_the_points() -> None:
    found = layout(network_of(2), plan_of().broker)
    assert np.array_equal(found.users, HOMES)
    assert np.array_equal(found.brokers, PLACES)


def test_scaling_finds_points_of_a_plane_again() -> None:
    points = np.random.default_rng(3).random((12, 2)) * 100
    costs = distances(points, points)
    found = scaled(costs)
    again = distances(found / THOUSANDTHS, found / THOUSANDTHS)
    assert np.abs(again - costs).max() <= 5
    assert scaled(np.zeros((1, 1), np.int64)).tolist() == [[0.0, 0.0]]
    assert scaled(np.zeros((0, 0), np.int64)).shape == (0, 2)


def test_users_without_coordinates_are_nearest_to_their_broker() -> None:
    broker = np.array([0] * 40 + [1] * 7 + [2]).astype(np.int32)
    users = beside(PLACES, broker)
    apart = ((users[:, None] - PLACES[None]) ** 2).sum(axis=2)
    assert np.array_equal(apart.argmin(axis=1), broker)
    assert len(np.unique(users.round(6), axis=0)) == len(users)
    alone = beside(np.zeros((3, 2)), broker)
    assert np.isfinite(alone).all()
    assert len(np.unique(alone[:40].round(6), axis=0)) == 40


def test_brokers_next_to_each_other_differ_in_colour() -> None:
    places = np.random.default_rng(1).random((60, 2))
    found = np.array(colours(places))
    apart = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    nearest = apart.argmin(axis=1)
    assert (found != found[nearest]).all()
    assert set(found.tolist()) == set(range(5))


def test_a_map_of_many_shows_some_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Shown are" not in Reader(render(result_of())).text
    monkeypatch.setattr(shown, "MOST_USERS", 2)
    reader = Reader(render(result_of()))
    assert "Shown are 2 of 3 users." in reader.text
    users = reader.data("result")["details"]["users"]
    assert (users["name"], users["total"]) == (["ann", "cy"], 3)


def test_the_widest_links_carry_most() -> None:
    details = result_of()["details"]
    links = {
        "total": 3,
        "traffic_total": 1300,
        "a": [0, 1, 0],
        "b": [1, 2, 2],
        "traffic": [1000, 250, 50],
        "cost": [30.0, 40.0, 50.0],
    }
    drawn = Reader(render(result_of(details=details | {"links": links}))).data("plots")
    lines = [
        s
        for s in drawn[MAP]["series"]
        if not s["symbol"] and s["name"].startswith("links")
    ]
    assert [(s["name"], len(s["x"])) for s in lines] == [
        ("links, over 500", 3),
        ("links, over 200", 3),
        ("links, less", 3),
    ]
    widths = [s["width"] for s in lines]
    assert widths == sorted(widths, reverse=True)
    texts = drawn[LINKS]["series"][0]["hover"]
    assert texts[0] == "x to &lt;i&gt;y&lt;/i&gt;: 1,000 a period, each costs 30"


def test_the_page_says_it_all_and_escapes_names() -> None:
    result = result_of()
    reader = Reader(render(result))
    assert answer(result) in reader.text
    assert "Which broker should each user connect to?" in reader.text
    assert "clustering 474 (20 % more)" in reader.text
    assert not {"i", "b"} & {tag for tag, _ in reader.elements}
    assert "brokerwise overlay '<b>n</b>' --seed 5" in reader.text
    specs = json.dumps(reader.data("plots"))
    assert "<i>" not in specs and "<b>" not in specs


def test_the_page_can_be_made_again_from_its_data() -> None:
    page = render(result_of())
    assert render(Reader(page).data("result")) == page


def test_plots_show_costs_loads_and_links() -> None:
    drawn = Reader(render(result_of())).data("plots")
    assert len(drawn) == 4
    costs = drawn[COSTS]
    assert costs["x"]["labels"] == [
        *("random", "greedy", "clustering", "steiner", "this plan", "bound")
    ]
    by_name = {series["name"]: series for series in costs["series"]}
    assert by_name["access"]["x"] == by_name["core"]["x"] == [4, 5]
    assert by_name["access"]["y"] == [85.0, 80.0]
    assert by_name["access and core"]["y"] == [987.5, 395.0, 474.0, 1234567.0]
    assert drawn[LOADS]["series"][0]["y"] == [50.0, 50.0, 0.0]
    assert drawn[LINKS]["series"][0]["y"] == [10]


def test_what_was_not_computed_is_not_drawn() -> None:
    none = dict.fromkeys(("random", "clustering", "steiner", "bound_access"))
    result = result_of(**none, algorithm="greedy", crr=None)
    reader = Reader(render(result))
    assert reader.data("plots")[COSTS]["x"]["labels"] == ["this plan", "bound"]
    assert "Cost reduction ratio" not in reader.text


def test_an_empty_network_has_a_page() -> None:
    details = result_of()["details"]
    users: dict[str, Any] = {
        key: 0 if key == "total" else [] for key in details["users"]
    }
    links: dict[str, Any] = {
        key: 0 if "total" in key else [] for key in details["links"]
    }
    brokers = details["brokers"] | {"load": [0, 0, 0], "users": [0, 0, 0]}
    none = {"how": "points", "users": users, "links": links, "brokers": brokers}
    page = render(
        result_of(
            details=none, users=0, load=0, cost=0.0, access=0.0, core=0.0, bound=0.0
        )
    )
    assert "There are no users: there is nothing to wire." in Reader(page).text
