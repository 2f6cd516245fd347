"""`brokerwise reproduce provision` on tiny traces, as people run it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from brokerwise.api import uniform
from brokerwise.cli.main import run
from brokerwise.experiments import provision, provision_cells
from brokerwise.experiments.provision_cells import plan_cell
from brokerwise.experiments.provision_checks import count_served
from brokerwise.experiments.provision_published import VM_TYPES
from brokerwise.model.placement import Placement
from brokerwise.planners.provision.packing.pack import pack
from brokerwise.planners.provision.packing.pieces import Packing
from brokerwise.planners.provision.portfolio import Options
from brokerwise.planners.provision.solve import STEPS, Problem, solve

SEED = 2
WORKLOAD = uniform(topics=150, subscribers=1_200, each=8, rates="3-40", seed=5)
CAPACITY = 2_400


def cell(threshold: int = 60) -> dict[str, Any]:
    return plan_cell(WORKLOAD, threshold, VM_TYPES[0], CAPACITY, SEED)


def command(out: Path, *more: str) -> list[str]:
    sizes = ["--spotify", "0.0004", "--twitter", "0.00002", "--seed", "1"]
    return ["reproduce", "provision", "--out", str(out), *sizes, *more]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[0])
def test_a_row_is_the_plan_that_the_planner_makes(step: tuple[str, str, str]) -> None:
    name, selection, packing = step
    row = next(row for row in cell()["rows"] if row["name"] == name)
    fleet = VM_TYPES[0].fleet(CAPACITY)
    options = Options(selection, packing, seed=SEED)
    plan = solve(Problem(WORKLOAD, fleet, 60), options)
    assert (row["selection"], row["packing"]) == (selection, packing)
    assert (row["vms"], row["load"]) == (len(plan.brokers), plan.load)
    assert row["cost"] == pytest.approx(plan.cost, rel=1e-12)
    assert row["bound_paper"] == pytest.approx(plan.bound_paper, rel=1e-9)
    assert row["cost"] == row["cost_brokers"] + row["cost_bandwidth"]
    assert row["gap"] == pytest.approx(1 - row["bound"] / row["cost"])


def test_a_cell_of_right_plans_has_no_problems() -> None:
    found = cell()
    assert found["problems"] == []
    assert found["audited"]
    assert found["vms_limit"] == -(-found["load_bound"] // CAPACITY) + 1
    ours = next(row for row in found["rows"] if row["name"] == "ours")
    assert found["over_load_bound"] == ours["load"] / found["load_bound"] >= 1


def test_the_same_cell_but_for_seconds() -> None:
    def timeless(found: dict[str, Any]) -> dict[str, Any]:
        rows = [
            {k: v for k, v in row.items() if k != "seconds"} for row in found["rows"]
        ]
        return {**found, "rows": rows, "seconds": None}

    assert timeless(cell()) == timeless(cell())


def crowded(packing: Packing) -> Packing:
    """All pairs of each topic on the first broker."""
    topic, runs = np.unique(packing.placement.topic, return_index=True)
    pairs = np.add.reduceat(packing.placement.pairs, runs)
    return Packing(
        packing.broker_type[:1], Placement(topic, np.zeros_like(topic), pairs)
    )


def test_a_plan_over_its_capacity_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = pack

    def dishonest(name: str, *rest: Any) -> Packing | None:
        found = honest(name, *rest)
        assert found is not None
        return crowded(found) if name == "custom" else found

    monkeypatch.setattr(provision_cells, "pack", dishonest)
    problems = cell()["problems"]
    assert any(p.startswith("(e): 1 brokers are over their cap") for p in problems)
    # So few brokers cost less than is possible, and less than tight takes.
    assert any(p.startswith("bound costs") and "(e)" in p for p in problems)
    assert any(p.startswith("greedy, tight costs") for p in problems)
    assert not any(p.startswith("(a)") or p.startswith("ours") for p in problems)


def test_an_unsatisfied_subscriber_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = count_served

    def hungry(workload: Any, threshold: int, blocks: Any) -> Any:
        """As if subscribers had been promised a bit more than they got."""
        return honest(workload, threshold + 60, blocks)

    monkeypatch.setattr(provision_cells, "count_served", hungry)
    problems = cell()["problems"]
    assert sum("get less than they need" in p for p in problems) == len(cell()["rows"])


def test_a_threshold_that_cannot_be_met_is_an_answer() -> None:
    found = plan_cell(WORKLOAD, 60, VM_TYPES[0], 20, SEED)
    assert found["status"] == "infeasible"
    assert "which no broker can carry" in found["reason"]
    assert found["rows"] == []


def test_results_are_written_and_a_second_run_computes_nothing(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(command(out, "--json")) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["status"] == "ok"
    assert [trace["name"] for trace in first["traces"]] == ["spotify", "twitter"]
    for trace in first["traces"]:
        cells = [(c["threshold"], c["type"]) for c in trace["cells"]]
        kinds = ("c3.large", "c3.xlarge")
        assert cells == [(t, k) for t in (10, 100, 1000) for k in kinds]
        assert trace["capacity"]["vms"] <= 100
        assert (out / trace["profile"]).exists()
    assert run(command(out)) == 0
    shown = capsys.readouterr()
    assert "spotify: 10-" not in shown.err  # no stage was run
    for text in (shown.out, (out / "summary.md").read_text()):
        assert "27.6" in text  # theirs
        assert "Saved by greedy over random selection" in text
        assert "0 plans" not in text
        assert "all checks passed" in text
    again = json.loads((out / "results.json").read_text())
    assert again["cells"]["computed"] == 0
    assert again["traces"] == first["traces"]
    page = (out / "report.html").read_text()
    assert page.lstrip().startswith("<!DOCTYPE html>")
    assert "Spotify-shaped, scale 0.0004, c3.large: cost of each step" in page


def test_an_interrupted_run_goes_on_where_it_was(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = list[Any]()

    def interrupted(*arguments: Any) -> dict[str, Any]:
        calls.append(arguments)
        if len(calls) == 3:  # the first is to warm up
            raise KeyboardInterrupt
        return plan_cell(*arguments)

    small = command(tmp_path / "out", "--twitter", "0", "--threshold", "10,100")
    with monkeypatch.context() as patched:
        patched.setattr(provision, "plan_cell", interrupted)
        assert run(small) == 130
    assert "what is complete is kept" in capsys.readouterr().err
    kept = [path.name for path in (tmp_path / "out/cells").iterdir()]
    assert "spotify-0.0004-seed1-10-c3.large.json" in kept
    assert "spotify-0.0004-seed1-10-c3.xlarge.json" not in kept
    assert not (tmp_path / "out/results.json").exists()
    assert run([*small, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"] == {
        "computed": 3,
        "kept": len(kept),
    }


def test_a_wrong_plan_ends_with_exit_1_and_is_named(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wrong(*arguments: Any) -> dict[str, Any]:
        return {**plan_cell(*arguments), "problems": ["(a): 3 brokers are over"]}

    monkeypatch.setattr(provision, "plan_cell", wrong)
    small = command(tmp_path / "out", "--twitter", "0", "--threshold", "100")
    assert run(small) == 1
    shown = capsys.readouterr().out
    assert "2 checks failed" in shown
    assert "failed: spotify 100 c3.large: (a): 3 brokers are over" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--spotify 0 --twitter 0", "nothing to do"),
        ("--spotify -1", "--scale: found -1"),
        ("--threshold 10,x", "--threshold: found '10,x'"),
        ("--threshold 0", "--threshold: found 0"),
        ("--graphs nowhere", "--graphs nowhere: found none of"),
        ("--conf x", "--conf: found 'x'"),
    ],
)
def test_bad_words_are_named_and_nothing_is_written(
    words: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    base = ["reproduce", "provision", "--quick", "--out", str(out)]
    assert run([*base, *words.split()]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_a_directory_of_something_else_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "precious").write_text("x")
    assert run(command(tmp_path)) == 2
    assert "is no directory of results" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]
