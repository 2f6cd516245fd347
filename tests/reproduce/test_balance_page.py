"""The report of `reproduce balance`, from results that are made up."""

import json
from typing import Any

import pytest
from tests.reproduce.balance_records import Record, city, live_run, paper
from tests.show.reading import Reader

from brokerwise.reproduce.account import judged, summary, text
from brokerwise.reproduce.balance import over_seeds
from brokerwise.reproduce.balance_claims import CLAIMS, Runs
from brokerwise.reproduce.balance_page import (
    account,
    answer,
    bounds,
    delivery_table,
    live,
    load_text,
    plots,
    seeds,
    seeds_table,
    sweep_table,
    tables,
    unit_of,
    world_table,
)
from brokerwise.reproduce.pages import PAGES
from brokerwise.show.reports import render

LOADS = {"loads": [[0, 0], [660e6, 600e6]], "max_load": 400e6, "beta": 300e6}
FIGURES = [
    *city("none", "ldm", "sdm", "gsh", "ldm+gsh", "sdm+gsh", "planned"),
    paper("none", cov=0.64, moves=0, sessions=[2_700, 450], **LOADS),
    paper("ldm", cov=0.2, moves=1_464, **LOADS),
    paper(
        "planned",
        cov=0.14,
        moves=1_758,
        max_load_end=663e6,
        mean_load_end=650e6,
        bound=530e6,
        gap=0.2,
        **LOADS,
    ),
]
SWEEP = [
    paper(policy, alpha=alpha, beta=beta, max_load=500e6)
    for policy in ("ldm", "planned")
    for alpha in (0.05, 0.15)
    for beta in (300e6, 700e6)
]
REPEATS = [
    {**run, "seed": seed, "cov": run["cov"] + 0.001 * seed * (run["policy"] == "none")}
    for seed in (0, 1, 2)
    for run in city("none", "ldm", "sdm")
]
SEEDS = [
    paper(policy, seed=seed, cov=cov, moves=moves)
    for seed in (0, 1)
    for policy, cov, moves in (
        *(("ldm", 0.2, 1_000), ("planned", 0.1, 1_200)),
        ("planned@ldm", 0.2, 1_000),
    )
]


def result(**fields: Any) -> Record:
    made: Record = {
        "kind": "reproduce balance",
        "status": "ok",
        "problems": [],
        "figures": FIGURES,
        "sweep": SWEEP,
        "seeds": over_seeds(SEEDS, "ldm", ("planned", "planned@ldm")),
        "claims": judged(CLAIMS, Runs(FIGURES, SWEEP, REPEATS)),
        "repeats": REPEATS,
        "live": [],
        "runs": 40,
        "runs_missing": 0,
        "live_runs": 0,
        "live_missing": 0,
        "runs_computed": 40,
        "runs_kept": 0,
        "runs_of_other_code": 0,
        "processes": 2,
        "seed": 0,
        "command": "brokerwise reproduce balance --out <here>",
        "version": "0.1.0",
    }
    return made | fields


LIVE = [
    live_run("none", moves=0, cov_before=0.79, cov_after=0.81),
    live_run("planned", moves=57, twice=2, problems=["2 results shown twice"]),
]


def test_the_answer_has_policies_seeds_and_claims() -> None:
    said = answer(result())
    assert "With nearest placement cov is 0.640 on average over time" in said
    assert "LDM to 0.200 with 1,464 moves" in said
    assert "planned (ours) to 0.140 with 1,758 moves" in said
    assert "Over 2 seeds planned has a lower cov than LDM in 2: cov -50.00 %" in said
    assert "things that the paper says of its figures are so in ours" in said


def test_seeds_say_what_lower_cov_costs() -> None:
    said = seeds(result())[0]
    assert "in 0 with no more moves" in said
    assert "cov -50.00 %, moves +20.00 %, max load +0.00 %" in said
    rows = seeds_table(result()).rows
    assert rows[0][:4] == ("0", "0.2000", "0.1000", "0.2000")


def test_loads_are_in_a_unit_that_fits_the_world() -> None:
    (near,) = (
        row
        for row in world_table(result(), "simulation").rows
        if row[0] == "nearest, LDM"
    )
    assert near[3] == "400 MB/s" and near[-2] == "1,464"
    assert world_table(result(), "emergency").rows[0][3] == "90 kB/s"
    assert load_text(1_500, unit_of([{"max_load": 900}])) == "1,500 B/s"


def test_a_bound_that_a_live_run_does_not_have_is_left_out() -> None:
    (row,) = world_table(
        result(live=[live_run("none", bound=None, gap=None)]), "live"
    ).rows
    assert row[6:8] == ("-", "-")


def test_bounds_are_printed_with_the_gap_and_why_it_is_far() -> None:
    (said,) = bounds(result())
    assert "663 MB/s, 2 % above the mean that it leaves" in said
    assert "the bound is 530 MB/s (gap 20 %)" in said


def test_figures_in_which_nothing_moved_live_are_not_said_to_be_reproduced() -> None:
    still = [
        live_run(policy, placement=placement, moves=0)
        for placement in ("random", "round-robin")
        for policy in ("none", "ldm", "sdm")
    ]
    said = live(result(live=still))
    assert said[1].startswith(
        "Figures 5 to 7 are not reproduced on real processes: with random and "
        "round-robin placement LDM and SDM made 0 moves in 4 runs"
    )
    moved = [*still, live_run("ldm", placement="random", moves=1)]
    assert "not reproduced" not in " ".join(live(result(live=moved)))


def test_live_runs_show_before_and_after_and_what_was_delivered() -> None:
    found = result(live=LIVE, live_runs=2)
    said = live(found)
    assert said[0].endswith("24,690 deliveries, lost 0, twice 2, wrong 0.")
    assert said[1:] == [
        "Live, nearest, planned (ours): cov 0.800 -> 0.100, max load 200 kB/s when it "
        "began, while users still came, and 110 kB/s at the end (without balancing "
        "110 kB/s, cov 0.810), 57 moves."
    ]
    assert delivery_table(found).rows[0][:3] == (
        "nearest, no balancing",
        "0.790",
        "0.810",
    )


def test_the_thresholds_are_a_table_and_two_figures() -> None:
    assert len(sweep_table(result()).rows) == len(SWEEP)
    drawn = [plot for plot in plots(result()) if "Figure 14" in plot.title]
    assert len(drawn) == 2 and all(len(plot.series) == 4 for plot in drawn)
    assert drawn[0].series[0].x == [0.05, 0.15]


def test_every_figure_of_the_paper_is_drawn() -> None:
    titles = [plot.title for plot in plots(result())]
    for figure in ("Figure 5:", "Figure 6 (1)", "Figure 6 (2)", "Figure 7:"):
        assert any(figure in title for title in titles), figure
    for figure in ("Figures 8, 9:", "Figures 10, 11 (1)", "12: moves", "Figure 13:"):
        assert any(figure in title for title in titles), figure
    live_too = [p.title for p in plots(result(live=LIVE))]
    assert len(live_too) == len(titles) + 5


def test_what_is_missing_or_wrong_is_said() -> None:
    wrong = result(problems=["live: 2 results shown twice"], runs_missing=3, runs=10)
    assert "1 check failed" in account(wrong).verdict
    assert "7 simulated runs" in account(wrong).verdict
    assert "Not complete: 3 runs not done yet" in account(wrong).verdict
    assert "failed: live: 2 results shown twice" in text(account(wrong))
    old = result(runs_of_other_code=4)
    assert "4 runs kept from earlier code" in account(old).verdict


@pytest.mark.parametrize("made", [result(), result(live=LIVE), result(sweep=[])])
def test_summary_and_text_hold_all_tables(made: Record) -> None:
    whole, shown = summary(account(made)), text(account(made))
    for table in tables(made):
        assert f"{table.caption}:" in whole
    for row in world_table(made, "emergency").rows:
        assert row[0] in shown and row[0] in whole
    assert "Made by `brokerwise reproduce balance --out <here>`" in whole


def test_the_page_holds_everything_and_escapes_it() -> None:
    page = render(result(live=LIVE), PAGES)
    assert page == render(result(live=LIVE), PAGES)
    assert "<here>" not in page
    reader = Reader(page)
    assert "planned (ours) to 0.140" in reader.text
    data = json.loads(dict(reader.scripts)["result"])
    assert data["figures"][0]["cov"] == FIGURES[0]["cov"]
    assert data == result(live=LIVE)


def test_nothing_yet_is_said_plainly() -> None:
    empty = result(
        figures=[],
        sweep=[],
        seeds=over_seeds([], "ldm", ("planned",)),
        claims=judged(CLAIMS, Runs([], [], [])),
        live=LIVE,
    )
    assert answer(empty) == "The runs without balancing are not there yet."
    assert seeds(empty) == bounds(empty) == []
    assert render(empty, PAGES)
