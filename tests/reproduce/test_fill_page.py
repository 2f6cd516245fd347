"""The report of `reproduce fill`, from results that are made up."""

from typing import Any

import pytest
from tests.show.reading import Reader

from brokerwise.reproduce.account import summary, text
from brokerwise.reproduce.fill_page import (
    account,
    agreement,
    answer,
    claims_table,
    figure_tables,
    overview_table,
    plots,
    received_table,
    scaled_table,
    solved_table,
    tables,
)
from brokerwise.reproduce.pages import PAGES
from brokerwise.show.reports import render

TITLES = ("Homogeneous", "LowVariance 8-19", "LowVariance 8-12", "HighVariance")
PUBLISHED = {"ilp": 85.58, "gs": 83.69, "mkpbs": 84.95}


def cell(title: str = "Homogeneous", **fields: Any) -> dict[str, Any]:
    """A cell of Table III, unless the fields say something else."""
    common = {
        "topics": 100,
        "subscribers": 100,
        "each": 5,
        "distribution": title,
        "family": title.split()[0],
        "capacity": 500,
        "brokers": 10,
        "small": True,
        "instances": 50,
        "published": {"solved": 50, "received": None},
        "problems": [],
        "greedy": {"percent": 84.5, "error": 0.05, "ms": 0.25},
        "mkp": {"percent": 85.0, "error": 0.05, "ms": 0.5},
        "columns": columns(),
        "checks": None,
    }
    return {**common, **fields}


def columns(**fields: Any) -> dict[str, Any]:
    percents = {"percent": 85.5, "bound": 85.6, "bound_paper": 100.0}
    counts = {"instances": 50, "optimal": 48, "within": 49, "stopped": 2}
    seconds = {"seconds": 0.125, "worst_seconds": 9.5}
    same = {"greedy": 84.5, "mkp": 85.0}
    gap = {"error": 0.05, "worst_gap": 0.00234}
    return {**percents, **counts, **seconds, **same, **gap, **fields}


def large(**fields: Any) -> dict[str, Any]:
    few = columns(instances=3, optimal=0, within=3)
    sizes = {"topics": 1000, "subscribers": 1000, "each": 50, "capacity": 5000}
    unknown = {"solved": None, "received": None}
    scaled = {"small": False, "brokers": 100, "published": unknown, "columns": few}
    return cell(**{**sizes, **scaled, **fields})


def quoted() -> dict[str, Any]:
    return cell(
        published={"solved": 50, "received": PUBLISHED},
        checks={"ilp": True, "gs": False, "mkpbs": True, "order": True},
    )


def result(*cells: dict[str, Any], **fields: Any) -> dict[str, Any]:
    common = {
        "kind": "reproduce fill",
        "status": "ok",
        "problems": [problem for c in cells for problem in c["problems"]],
        "cells": list(cells),
        "cells_missing": 0,
        "cells_of_other_code": 0,
        "instances": 50,
        "limit_seconds": 10.0,
        "processes": 2,
        "seed": 0,
        "command": "brokerwise reproduce fill --out here",
        "version": "0.1.0",
    }
    return {**common, **fields}


def rows(table: Any) -> dict[str, list[str]]:
    return {row[0]: list(row[1:]) for row in table.rows}


def test_table_iii_has_theirs_ours_and_whether_it_holds() -> None:
    found = rows(received_table(result(quoted()), 100))
    assert found["M = 10, ILP; columns"][:4] == ["85.58", "85.50", "0.05", "-0.08"]
    assert found["M = 10, ILP; columns"][-1] == "yes"
    assert found["M = 10, GS; greedy"][:2] == ["83.69", "84.50"]
    assert found["M = 10, GS; greedy"][-1] == "no"
    assert found["M = 10, MKPBS; mkp"][-1] == "yes"
    assert "3 of 4 comparisons hold" in text(account(result(quoted())))


def test_where_our_greedy_is_ahead_is_said() -> None:
    said = agreement(result(quoted(), cell()))
    assert "in 1 of 1 it delivers 0.81 to 0.81 points more." in said
    assert "the other way round" not in said
    better = {"percent": 85.25, "error": 0.05, "ms": 0.25}
    said = agreement(result(quoted(), cell(greedy=better, brokers=5)))
    assert said.endswith(
        "The order is the other way round, GS ahead of MKPBS, in 1 of all 2 settings, "
        "by up to 0.25 points (Homogeneous, 100 topics, b = 500, M = 5)."
    )


def test_which_heuristic_is_faster_is_said() -> None:
    slow = {"percent": 84.5, "error": 0.05, "ms": 1.0}
    found = rows(claims_table(result(cell(), cell(greedy=slow, brokers=5))))
    assert found["GS is faster than MKPBS"] == [
        "not so: greedy is in 1 of 2 settings; mkp takes 0.5 to 2 times as long, 1.25 "
        "in the middle"
    ]
    alone = rows(claims_table(result(cell())))["GS is faster than MKPBS"]
    assert alone[0].startswith("so: greedy is in 1 of 1 setting;")


def test_tables_i_and_ii_say_what_was_not_tried() -> None:
    untried = cell(brokers=15, published={"solved": None, "received": None})
    other = cell(topics=1000)
    found = result(cell(), untried, other, cell(columns=None, brokers=20))
    one = rows(solved_table(found, 100))
    assert one == {
        "Homogeneous, 500, 10": ["50", "48", "49", "0.234", "0.125", "9.5"],
        "Homogeneous, 500, 15": ["not tried", "48", "49", "0.234", "0.125", "9.5"],
    }
    assert list(rows(solved_table(found, 1000))) == ["Homogeneous, 500, 10"]
    short = rows(overview_table(found))
    assert short["Table I, Homogeneous, b = 500"][:3] == [
        *("50 of 50", "96 of 100"),
        "98 of 100",
    ]


def test_the_answer_counts_one_lowvariance_of_the_paper() -> None:
    said = answer(result(*(cell(title) for title in TITLES)))
    assert "Of 200 instances, 192 are proven optimal and 196" in said
    assert "in at most 9.5 s each" in said
    assert "solved 150 of 150 such instances" in said


@pytest.mark.parametrize(("meant", "fits"), [(84.6, True), (60.0, False)])
def test_both_readings_of_lowvariance_are_told(meant: float, fits: bool) -> None:
    shares = {"LowVariance 8-19": 64.0, "LowVariance 8-12": meant}
    cells = [
        cell(t, mkp={"percent": shares.get(t, 85.0), "error": 0.1, "ms": 1})
        for t in TITLES
    ]
    said = summary(account(result(*cells)))
    assert "delivers 64.0 % where Homogeneous gives 85.0 % (100 topics" in said
    assert f"with 8 to 12 it is {meant:.1f} %." in said
    assert ("So 8 to 12 was probably meant" in said) == fits


def test_large_instances_show_their_gap() -> None:
    found = rows(scaled_table(result(cell(), large())))
    assert found["1,000 topics, Homogeneous, 5,000, 100"] == [
        *("3", "84.500", "85.000", "85.500", "85.600", "100.000", "0.234", "9.5")
    ]


def everything() -> list[dict[str, Any]]:
    """Two numbers of brokers for each setting of a figure."""
    small = [
        {**quoted(), "distribution": t, "topics": p, "capacity": b, "brokers": m}
        for t in TITLES
        for p in (100, 1000)
        for b in (200, 500)
        for m in (5, 10)
    ]
    scaled = [
        large(distribution=t, topics=p, capacity=b, brokers=m, columns=None)
        for t in TITLES
        for p, b in ((1000, 2000), (1000, 5000), (10_000, 5000))
        for m in (50, 100)
    ]
    return small + scaled


def test_each_figure_is_a_table_and_a_plot() -> None:
    found = result(*everything())
    captions = [table.caption for table in figure_tables(found)]
    numbers = [caption.split(":")[0] for caption in captions]
    assert numbers == [f"Figure {number}" for number in range(2, 14)]
    assert [plot.title for plot in plots(found)] == captions
    lines = {
        table.caption.split(":")[0]: table.columns for table in figure_tables(found)
    }
    assert lines["Figure 2"] == ("M", "columns", "greedy", "mkp")
    assert len(lines["Figure 4"]) == 1 + 2 * 4
    assert lines["Figure 10"] == (
        *("M", "greedy, b = 2,000", "mkp, b = 2,000"),
        *("greedy, b = 5,000", "mkp, b = 5,000"),
    )
    times = figure_tables(found)[5]
    assert times.rows[0][1:3] == ("0.25", "0.5")


def test_published_points_are_drawn_where_there_are_any() -> None:
    drawn = {plot.title.split(":")[0]: plot for plot in plots(result(*everything()))}
    names = [series.name for series in drawn["Figure 3"].series]
    assert names[3:] == ["paper: ILP", "paper: GS", "paper: MKPBS"]
    assert list(drawn["Figure 3"].series[4].y) == [83.69, 83.69]
    assert not any("paper" in series.name for series in drawn["Figure 8"].series)


def test_a_figure_leaves_out_columns_where_only_some_instances_have_it() -> None:
    part = cell(columns=columns(instances=3))
    (table,) = (t for t in figure_tables(result(part)) if "Figure 2" in t.caption)
    assert table.columns == ("M", "greedy", "mkp")


def test_what_the_paper_says_of_figures_is_beside_ours() -> None:
    said = rows(claims_table(result(*everything())))
    assert len(said) == 8
    assert "greedy 1 times, mkp 1 times" in str(said)
    assert "0.500 to 0.500 points" in str(said)
    assert claims_table(result()).rows == []


def test_problems_and_missing_parts_are_plain_to_see() -> None:
    broken = cell(problems=["100 topics, ...: mkp: broker 0 carries 61 of 60"])
    said = text(account(result(broken, cells_missing=3, cells_of_other_code=1)))
    assert "150 fillings counted again: 1 check failed" in said
    assert "failed: 100 topics, ...: mkp: broker 0 carries 61 of 60" in said
    assert "Not complete: 3 settings not run yet" in said
    assert "1 setting kept from earlier code" in said


def test_few_instances_are_said_to_be_few() -> None:
    assert "by chance" in text(account(result(quoted(), instances=5)))
    assert "by chance" not in text(account(result(quoted())))


def test_an_empty_result_can_be_shown() -> None:
    assert answer(result()) == "No small instance was run."
    assert tables(result()) == []
    assert "# Reproduced: fill" in summary(account(result()))
    assert "nothing to plot" in render(result(), PAGES)


def test_the_page_holds_answer_tables_plots_and_data() -> None:
    found = result(*everything())
    page = Reader(render(found, PAGES))
    assert answer(found) in page.text
    assert "Figure 13: milliseconds" in page.text
    assert "Table III: Homogeneous" in page.text
    assert len(page.data("plots")) == 12
    assert page.data("result") == found
