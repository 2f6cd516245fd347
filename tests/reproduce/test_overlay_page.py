"""The report of `reproduce overlay`, from results that are made up."""

from typing import Any

import pytest
from tests.show.reading import Reader

from brokerwise.reproduce.account import summary, text
from brokerwise.reproduce.overlay_page import (
    account,
    aims,
    answer,
    certified_table,
    explanations,
    orders_table,
    overview_table,
    plots,
    ratio_table,
    sites_table,
    sweeps,
    tables,
    times_table,
    users_table,
)
from brokerwise.reproduce.pages import PAGES
from brokerwise.show.reports import render

PLANE: dict[str, Any] = {
    "key": "plane",
    "title": "plane",
    "ratio": 1.0,
    "width": 1.0,
    "costs": "plane",
    "sites": None,
    "site_count": 0,
}
CORE = {**PLANE, "key": "core", "title": "core matters", "ratio": 0.01, "width": 0.02}
CLOUD = {**PLANE, "key": "cloud-wide", "title": "cloud, any interests"}
CLOUD |= {"sites": "cloud", "site_count": 32}
MEANS = {"greedy": 9.5, "clustering": 3.25, "steiner": 2.5}


def crr(**means: float) -> dict[str, dict[str, float]]:
    return {n: {"mean": m, "error": 0.125} for n, m in (MEANS | means).items()}


def local(**fields: Any) -> dict[str, Any]:
    found = {
        "samples": 10,
        "mean": 9.875,
        "error": 0.05,
        "others": crr(greedy=9.0),
        "possible": 10.0,
        "gap": 0.01,
        "worst_gap": 0.0125,
        "best": 10,
        "core_share": 0.05,
        "seconds": 4.0,
        "worst_seconds": 5.0,
    }
    return {**found, **fields}


def literal(**fields: Any) -> dict[str, Any]:
    found = {
        "samples": 2,
        "mean": 1.25,
        "error": 0.25,
        "others": crr(greedy=9.0),
        "paper_order": False,
        "core_share": 0.05,
        "seconds": 60.0,
    }
    return {**found, **fields}


def cell(regime: dict[str, Any] = PLANE, **fields: Any) -> dict[str, Any]:
    common = {
        "regime": regime["key"],
        "users": 10_000,
        "brokers": 100,
        "subchannels": 100,
        "ratio": regime["ratio"],
        "width": regime["width"],
        "samples": 100,
        "crr": crr(),
        "core_share": {"random": 0.005, "greedy": 0.04, "clustering": 0.01},
        "seconds": {},
        "paper_order": False,
        "literal": literal(),
        "local": local(),
    }
    return {**common, **fields}


def core(**fields: Any) -> dict[str, Any]:
    common: dict[str, Any] = {
        "crr": crr(greedy=1.1, clustering=1.5, steiner=2.0),
        "core_share": {"random": 0.9, "greedy": 0.98},
        "paper_order": True,
        "literal": literal(mean=1.0625, others=crr(greedy=1.1, clustering=1.5)),
        "local": local(mean=4.0, others=crr(greedy=1.1), possible=60.0, worst_gap=0.9),
    }
    return cell(CORE, **{**common, **fields})


def result(*cells: dict[str, Any], **fields: Any) -> dict[str, Any]:
    known = {c["regime"] for c in cells}
    common = {
        "kind": "reproduce overlay",
        "status": "ok",
        "problems": [],
        "regimes": [r for r in (PLANE, CORE, CLOUD) if r["key"] in known],
        "cells": list(cells),
        "times": {
            "users": 10_000,
            "brokers": 100,
            "repeats": 5,
            "local_repeats": 3,
            "literal_repeats": 1,
            "seconds": {"random": 0.01, "greedy": 0.001, "steiner": 0.5}
            | {"steiner_literal": 60.0, "local": 4.0},
        },
        "published": {
            "order": ["mixing", "clustering", "greedy"],
            "samples": 100,
            "seconds": {"random": 0.9, "greedy": 91.445, "steiner_literal": 179.654},
        },
        "samples": 300,
        "samples_missing": 0,
        "samples_core_checked": 10,
        "parts_of_other_code": 0,
        "processes": 2,
        "seed": 0,
        "command": "brokerwise reproduce overlay --out here",
        "version": "0.1.0",
    }
    return {**common, **fields}


def everything() -> dict[str, Any]:
    cells = [cell(users=1000, brokers=10), cell(), cell(ratio=10.0)]
    cells += [core(users=1000, brokers=10), core(), core(ratio=1.0)]
    return result(*cells, cell(CLOUD, users=3000, brokers=30))


def rows(table: Any) -> dict[str, list[str]]:
    return {row[0]: list(row[1:]) for row in table.rows}


def test_figure_9_is_a_row_for_each_size_at_the_regimes_ratio() -> None:
    found = rows(users_table(everything(), PLANE))
    assert list(found) == ["1,000", "10,000"]
    assert found["10,000"] == [
        *("100", "100", "9.50 ± 0.125", "3.25 ± 0.125", "2.50 ± 0.125"),
        *("1.25 ± 0.250", "2", "9.88 ± 0.050", "10", "10.00"),
    ]


def test_figure_10_is_a_row_for_each_ratio_of_the_largest() -> None:
    found = rows(ratio_table(everything(), CORE))
    assert list(found) == ["0.01", "1"]
    assert found["0.01"][0] == "98 %"
    assert ratio_table(result(cell()), PLANE).rows == []


def test_a_cell_that_the_papers_mixing_did_not_wire_shows_so() -> None:
    bare = result(cell(literal=None), core(users=1000), core(literal=None))
    assert rows(users_table(bare, PLANE))["10,000"][5:7] == ["-", "0"]
    one = result(cell(literal=literal(samples=1, error=0.0)))
    assert rows(users_table(one, PLANE))["10,000"][5:7] == ["1.25", "1"]
    orders = rows(orders_table(bare))
    assert orders["plane, ratio 1"][1:3] == ["-", "-"]
    assert orders["core, ratio 0.01"][2] == "0 of 1 sizes"
    assert "With theirs" not in explanations(bare)[0]
    assert "at 0 of 1 sizes of core with its own mixing" in answer(bare)


def test_a_cell_that_local_did_not_wire_shows_so() -> None:
    bare = result(cell(local=None))
    assert rows(users_table(bare, PLANE))["10,000"][-3:] == ["-", "0", "-"]
    assert rows(overview_table(bare))["plane, ratio 1"][-4:] == ["-", "-", "-", "4 %"]
    assert certified_table(bare).rows == []
    assert answer(bare) == "local wired no sample yet."
    assert "possible" not in explanations(bare)[0]
    assert "Figure 9" in render(bare, PAGES)


def test_both_orders_stand_side_by_side() -> None:
    found = rows(orders_table(everything()))
    paper = "mixing > clustering > greedy > random"
    assert found["plane, ratio 1"] == [
        paper,
        *("greedy > clustering > steiner_literal > random", "0 of 2 sizes"),
        *("greedy > clustering > steiner > random", "0 of 2 sizes"),
    ]
    assert found["core, ratio 0.01"] == [
        paper,
        *("clustering > greedy > steiner_literal > random", "0 of 2 sizes"),
        *("steiner > clustering > greedy > random", "2 of 2 sizes"),
    ]


def test_explanations_give_the_core_share_and_what_is_possible() -> None:
    plane, mattering = explanations(everything())
    ours = "ours greedy 9.50 > clustering 3.25 > steiner 2.50 > random 1"
    assert f"{ours}, where steiner is our mixing." in plane
    theirs = "greedy 9.00 > clustering 3.25 > steiner_literal 1.25 > random 1"
    assert f"With theirs, on 2 samples: {theirs}." in plane
    assert "0.5 % of what random costs and 4 % of what greedy does" in plane
    assert "greedy reaches 9.00 of the 10.00 that the bound leaves possible" in plane
    assert "next to nothing is left to win" in plane
    assert mattering.count("(the same order)") == 1
    assert "greedy 1.10 > steiner_literal 1.06 > random 1." in mattering
    assert "users who want the same on the same broker do" in mattering


def test_a_regime_between_both_gets_numbers_and_no_reason() -> None:
    between = cell(local=local(others=crr(greedy=5.0)))
    (said,) = explanations(result(between))
    assert said.endswith("possible (50 %), local 9.88.")


def test_sweeps_say_from_where_to_where() -> None:
    said = sweeps(everything())
    assert said[0].startswith("Figure 10: the paper says that mixing hardly changes")
    assert said[1].startswith("plane, ratio 1 to 10: greedy from 9.50 to 9.50")
    assert sweeps(result(cell())) == []


@pytest.mark.parametrize(("gap", "held"), [(0.04, "kept"), (0.041, "missed")])
def test_gaps_are_held_against_their_aims(gap: float, held: str) -> None:
    found = result(cell(local=local(worst_gap=gap)), cell(ratio=10.0), core())
    (said,) = aims(found)
    assert f"plane at ratio 1 {100 * gap:.3g} % (aim 4 %: {held})" in said
    assert "plane at ratio 10 1.25 % (aim 2 %: kept)" in said
    assert "core" not in said
    assert aims(result(cell(users=3000), cell(users=3000, ratio=10.0))) == []


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (
            [cell(), core()],
            "at 0 of 1 sizes of plane and 0 of 1 of core with its own mixing "
            "(steiner_literal), and at 0 of 1 sizes of plane and 1 of 1 of core with "
            "our variant of it (steiner).",
        ),
        (
            [core(literal=None)],
            "random, appears at 1 of 1 sizes of core with our variant of it (steiner).",
        ),
        (
            [core(literal=literal(paper_order=True)), core(users=1000)],
            "at 1 of 2 sizes of core with its own mixing (steiner_literal), and at 2 "
            "of 2 sizes of core with our variant of it (steiner).",
        ),
    ],
)
def test_the_answer_says_where_the_papers_order_appears(
    cells: list[dict[str, Any]], said: str
) -> None:
    assert answer(result(*cells)).endswith(said)


def test_a_regime_without_samples_yet_is_left_out() -> None:
    begun = result(cell(), regimes=[PLANE, CORE])
    assert len(explanations(begun)) == len(orders_table(begun).rows) == 1
    assert "of plane with our variant" in answer(begun)
    here = result(cell(CLOUD))
    assert "order" not in answer(here)
    assert "Measured latencies" in text(account(here))


def test_the_answer_counts_instances_and_says_what_is_proven() -> None:
    said = answer(result(cell(local=local(best=9)), core()))
    assert "On 19 of 20 instances local is at least as good" in said
    assert (
        "At 10,000 users and ratio 1 no wiring is more than 1.25 % (plane) cheaper."
        in said
    )


def test_table_i_has_theirs_beside_ours() -> None:
    found = rows(times_table(everything()))
    assert found["steiner_literal (mixing)"] == ["179.654", "60", "2.99"]
    assert found["steiner (our mixing)"] == ["-", "0.5", "-"]
    assert found["local"] == ["-", "4", "-"]
    assert (
        "median of 5, of local 3, of steiner_literal 1"
        in times_table(everything()).caption
    )
    assert times_table(result(cell(), times=None)).rows == []


def test_sites_have_their_own_table_and_no_figure() -> None:
    found = everything()
    table = sites_table(found)
    assert "cloud (32 sites)" in table.caption
    assert list(rows(table)) == ["cloud, any interests, ratio 1"]
    assert not any("cloud" in plot.title for plot in plots(found))
    assert sites_table(result(cell())).rows == []


def test_figures_have_a_line_for_each_algorithm_and_a_limit() -> None:
    drawn = {plot.title: plot for plot in plots(everything())}
    assert list(drawn) == [
        "Figure 9: plane, ratio 1",
        "Figure 9: core matters, ratio 0.01",
        "Figure 10: plane, 10,000 users",
        "Figure 10: core matters, 10,000 users",
        "Certified gap of local",
    ]
    lines = {s.name: s for s in drawn["Figure 9: plane, ratio 1"].series}
    assert list(lines) == [
        *("greedy (greedy packing)", "clustering", "steiner (our mixing)"),
        *("steiner_literal (mixing)", "local", "possible"),
    ]
    assert list(lines["local"].x) == [1000, 10_000]
    assert lines["possible"].dashed
    assert "of local 10" in drawn["Figure 9: plane, ratio 1"].caption
    gaps = drawn["Certified gap of local"].series
    assert [list(s.y) for s in gaps] == [[1.25, 1.25], [90, 90]]


def test_problems_and_missing_parts_are_plain_to_see() -> None:
    wrong = "plane, 10,000 users, sample 0: greedy: broker 0 carries 61 of 60"
    said = text(
        account(
            result(cell(), problems=[wrong], samples_missing=3, parts_of_other_code=1)
        )
    )
    assert "412 wirings counted again: 1 check failed" in said
    assert f"failed: {wrong}" in said
    assert "Not complete: 3 samples not run yet" in said
    assert "1 part kept from earlier code" in said


def test_an_empty_result_can_be_shown() -> None:
    nothing = result(times=None)
    assert tables(nothing) == []
    assert "# Reproduced: overlay" in summary(account(nothing))
    assert "local wired no sample yet." in text(account(nothing))
    assert "nothing to plot" in render(nothing, PAGES)


def test_the_page_holds_answer_tables_plots_and_data() -> None:
    found = everything()
    page = Reader(render(found, PAGES))
    assert answer(found) in page.text
    assert "Table I: seconds at 10,000 users" in page.text
    assert len(page.data("plots")) == 5
    assert page.data("result") == found
    for said in (summary(account(found)), text(account(found))):
        assert "cost reduction ratio" in said.lower()
        assert "all checks passed" in said
