"""The experiment of `reproduce balance` on small worlds, really simulated."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.reproduce.balance_records import live_run

from brokerwise.reproduce import runner
from brokerwise.reproduce.balance import (
    Experiment,
    Task,
    measure,
    over_seeds,
    reproduce,
)
from brokerwise.reproduce.balance_settings import (
    ALPHAS,
    BETAS,
    CITY,
    MATCHED,
    NEAREST,
    OURS,
    PACED,
    PAPER,
    PAPERS,
    PLACEMENTS,
    POLICIES,
    SEEDS,
    Cell,
    LiveCell,
    every_cell,
    figure,
    live_cells,
)
from brokerwise.reproduce.runner import Moment

SMALL = replace(PAPER, brokers=4, subscribers=300, minutes=6, beta=3e6)
CELLS = [
    *(figure(SMALL, NEAREST, x, 0) for x in ("none", PAPERS, OURS, MATCHED, PACED)),
    figure(SMALL, NEAREST, PAPERS, 1),
    Cell(SMALL, NEAREST, PAPERS, 0.05, SMALL.beta, 0),
]


def run(out: Path, force: bool = False, **fields: Any) -> dict[str, Any]:
    experiment = Experiment(**{"cells": CELLS, **fields})
    return reproduce(experiment, out, watch=lambda _: None, force=force)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "cores", lambda: 1)


@pytest.mark.usefixtures("alone")
def test_runs_are_kept_and_a_second_time_nothing_is_computed(tmp_path: Path) -> None:
    moments = list[Moment]()
    experiment = Experiment(CELLS)
    first = reproduce(experiment, tmp_path, watch=moments.append)
    assert (first["status"], first["problems"]) == ("ok", [])
    assert (first["runs_computed"], first["runs_missing"]) == (7, 0)
    assert [m.done for m in moments] == [1, 2, 3, 4, 5, 6, 7]
    assert [(r["policy"], r["seed"]) for r in first["figures"]] == [
        *((x, 0) for x in ("none", PAPERS, OURS, MATCHED, PACED)),
    ]
    assert [(r["policy"], r["alpha"]) for r in first["sweep"]] == [
        *((PAPERS, PAPER.alpha), (OURS, PAPER.alpha), (PAPERS, 0.05)),
    ]
    assert [row["seed"] for row in first["seeds"]["rows"]] == [0]
    again = run(tmp_path)
    assert (again["runs_computed"], again["runs_kept"]) == (0, 7)
    for part in ("figures", "sweep", "seeds", "claims"):
        assert again[part] == first[part]
    page = (tmp_path / "report.html").read_text()
    assert "planned with LDM" in page and page.lstrip().startswith("<!DOCTYPE html>")


@pytest.mark.usefixtures("alone")
def test_balancing_lowers_cov_and_ours_is_no_worse_with_as_many_moves(
    tmp_path: Path,
) -> None:
    found = {r["policy"]: r for r in run(tmp_path)["figures"]}
    assert found["none"]["moves"] == 0 and found[PAPERS]["moves"] > 10
    assert found[PAPERS]["cov_end"] < 0.7 * found["none"]["cov_end"]
    assert found[OURS]["cov"] < found[PAPERS]["cov"]
    assert found[MATCHED]["moves"] <= found[PAPERS]["moves"]
    assert found[MATCHED]["moves"] <= 1.05 * found[PAPERS]["moves"]


@pytest.mark.usefixtures("alone")
def test_what_was_complete_when_interrupted_is_written_and_kept(
    tmp_path: Path,
) -> None:
    def interrupt(moment: Moment) -> None:
        if moment.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(Experiment(CELLS), tmp_path, watch=interrupt)
    part = json.loads((tmp_path / "results.json").read_text())
    assert (part["status"], part["runs_missing"]) == ("partial", 5)
    assert "Not complete: 5 runs not done" in (tmp_path / "summary.md").read_text()
    whole = run(tmp_path)
    assert (whole["status"], whole["runs_kept"]) == ("ok", 2)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "other",
    [
        replace(CELLS[0], seed=9),
        replace(CELLS[0], setting=replace(SMALL, subscribers=200)),
    ],
)
def test_other_settings_are_computed_again(tmp_path: Path, other: Cell) -> None:
    run(tmp_path, cells=CELLS[:1])
    assert run(tmp_path, cells=[other], seed=other.seed)["runs_computed"] == 1


def test_live_runs_follow_one_by_one_and_are_kept(tmp_path: Path) -> None:
    cells = live_cells(2.0)[:3]
    played: list[LiveCell] = []

    def play(cell: LiveCell) -> dict[str, Any]:
        if len(played) == 2:
            raise KeyboardInterrupt
        played.append(cell)
        lost = 3 if cell.policy == "ldm" else 0
        wrong = [f"{lost} results lost"] if lost else []
        return live_run(cell.policy, lost=lost, problems=wrong)

    experiment = Experiment([], cells)
    with pytest.raises(KeyboardInterrupt):
        reproduce(experiment, tmp_path, watch=lambda _: None, play=play)
    part = json.loads((tmp_path / "results.json").read_text())
    assert (part["status"], part["live_missing"]) == ("violated", 1)
    assert part["problems"] == ["live, nearest, ldm: 3 results lost"]
    assert played == cells[:2]
    played.clear()
    whole = reproduce(experiment, tmp_path, watch=lambda _: None, play=play)
    assert played == cells[2:] and whole["live_missing"] == 0
    assert "lost 3" in (tmp_path / "summary.md").read_text()


@pytest.mark.parametrize("quick", [False, True])
def test_there_is_a_cell_for_everything_in_the_figures(quick: bool) -> None:
    cells = every_cell(quick=quick, seed=5)
    assert len(cells) == len(set(cells)) == len({cell.name for cell in cells})
    for world in (CITY.key, PAPER.key):
        found = {
            (c.placement, c.policy)
            for c in cells
            if c.setting.key == world and c.alpha == c.setting.alpha and c.seed == 5
        }
        assert found >= {(p, policy) for p in PLACEMENTS for policy in POLICIES}
        assert found >= {(NEAREST, "ldm+gsh"), (NEAREST, "sdm+gsh"), (NEAREST, MATCHED)}
    swept = {(c.alpha, c.beta) for c in cells if c.setting.key == PAPER.key}
    assert len({alpha for alpha, _ in swept}) == len(ALPHAS)
    assert len({beta for _, beta in swept}) == len(BETAS)
    seeds = {c.seed for c in cells if c.policy == MATCHED}
    assert seeds == set(range(5, 5 + (3 if quick else SEEDS)))


def test_live_cells_are_the_papers_and_ours_on_nearest() -> None:
    cells = live_cells(3.0, seed=2)
    pairs = [(cell.placement, cell.policy) for cell in cells]
    assert len(pairs) == len(set(pairs)) == 13
    assert set(pairs) >= {(p, x) for p in PLACEMENTS for x in ("none", "ldm", "sdm")}
    assert {x for p, x in pairs if p == NEAREST} >= {"gsh", "planned", "ldm+gsh"}
    assert {(cell.minutes, cell.seed) for cell in cells} == {(3.0, 2)}


@pytest.mark.long
def test_with_ldms_moves_ours_has_a_lower_cov_in_at_least_19_of_20_seeds() -> None:
    records = [
        measure(Task(figure(PAPER, NEAREST, policy, seed)))
        for seed in range(SEEDS)
        for policy in (PAPERS, OURS, MATCHED)
    ]
    assert not [record["problems"] for record in records if record["problems"]]
    found = over_seeds(records, PAPERS, (OURS, MATCHED))["compared"]
    assert found[OURS]["lower_cov"] >= 19
    assert found[MATCHED]["lower_cov_no_more_moves"] >= 19


def test_a_budget_is_what_the_other_policy_uses_and_goes_in_small_steps() -> None:
    small = replace(PAPER, brokers=4, subscribers=300, minutes=6, beta=4e6)
    theirs = measure(Task(figure(small, NEAREST, PAPERS, 0)))
    ours = measure(Task(figure(small, NEAREST, MATCHED, 0)))
    assert theirs["moves"] > 3
    assert ours["moves"] <= theirs["moves"]
    assert ours["first_moves"] <= 3  # 1 % of 300
