"""The experiment of `reproduce overlay` on small networks, with real algorithms."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tiers import some

from brokerwise.model.arrays import Int32s
from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.pipeline.networks.generate import generate
from brokerwise.planners.overlay.heuristics import BY_NAME
from brokerwise.planners.overlay.placing import Unplaced
from brokerwise.planners.overlay.problem import Demand, Options
from brokerwise.planners.overlay.solve import Answer, search, solve
from brokerwise.planners.overlay.wiring import Costs, costs_of
from brokerwise.reproduce import overlay, runner
from brokerwise.reproduce.overlay import (
    CHECKED,
    CORELESS,
    Experiment,
    Task,
    Timing,
    cell_problems,
    cell_results,
    core_at,
    guess,
    instance_seed,
    kind_of,
    measure,
    measure_times,
    reproduce,
)
from brokerwise.reproduce.overlay_settings import (
    ORDER,
    REGIMES,
    SIZES,
    TABLE_I,
    Cell,
    Regime,
    Sites,
    every_cell,
)
from brokerwise.reproduce.runner import Forecast, Moment


def test_every_size_of_figure_9_is_there_in_each_regime() -> None:
    cells = every_cell()
    assert len({cell.name for cell in cells}) == len(cells) == 30
    for regime in REGIMES:
        mine = [cell for cell in cells if cell.regime == regime]
        assert [cell.users for cell in mine] == list(range(1000, 10_001, 1000))
        assert all(cell.brokers * 100 == cell.users for cell in mine)
        assert all(regime.ratio in cell.ratios for cell in mine)
        assert all(cell.samples == 100 for cell in mine)


def test_figure_10_is_of_the_largest_networks() -> None:
    sweeps = {c.regime.key: c for c in every_cell() if len(c.ratios) > 1}
    assert {cell.users for cell in sweeps.values()} == {SIZES[-1]}
    assert sweeps["plane"].ratios == sweeps["independent"].ratios == (1, 2, 5, 10)
    assert sweeps["core"].ratios == (0.01, 0.03, 0.1, 0.3, 1, 10)


def test_steiner_literal_wires_few_samples_and_fewer_large_ones() -> None:
    literal = {cell.users: cell.literal for cell in every_cell()}
    assert literal[1000] == literal[3000] == 10
    assert (literal[4000], literal[9000], literal[10_000]) == (0, 0, 1)
    large = next(cell for cell in every_cell() if cell.users == 10_000)
    assert [large.is_literal(0, ratio) for ratio in large.ratios[:2]] == [True, False]
    assert not large.is_literal(1, large.ratios[0])
    small = every_cell(quick=True)[1]
    assert all(small.is_literal(9, ratio) for ratio in small.ratios)


def test_local_wires_all_samples_up_to_3_000_users_and_10_above() -> None:
    local = {cell.users: cell.local for cell in every_cell()}
    assert local[1000] == local[3000] == 100
    assert local[4000] == local[10_000] == 10
    few = every_cell(samples=4)
    assert {(cell.samples, cell.local) for cell in few} == {(4, 4)}


def test_quick_is_a_part_with_ten_samples() -> None:
    cells = every_cell(quick=True)
    assert {cell.samples for cell in cells} == {10}
    assert {cell.local for cell in cells} == {10}
    ratios = {cell.regime.key: cell.ratios for cell in cells}
    assert ratios["plane"] == (1, 10) and ratios["core"] == (0.01, 0.1, 1, 10)


def test_sites_of_a_file_make_cells_with_their_latencies(tmp_path: Path) -> None:
    path = tmp_path / "regions.csv"
    path.write_text("from,a,b,c\na,1,10,20\nb,11,1,0\nc,21,,1\n")
    sites = Sites.read(path)
    cells = [c for c in every_cell(sites=[sites]) if c.regime.sites is not None]
    assert [c.regime.title for c in cells] == [
        *("regions, any interests", "regions, narrow interests")
    ]
    assert all((c.samples, c.local) == (10, 10) for c in cells)
    assert all(c.settings(1.0).latency is sites.latency for c in cells)
    assert np.isnan(sites.latency[1, 2])  # no message takes no time
    other = Sites("regions", sites.latency + 1)
    assert other.digest != sites.digest
    assert cells[0].inputs()["latency"] == sites.digest


def test_a_file_that_is_no_square_matrix_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("1,2,3\n4,5,6\n")
    with pytest.raises(InputError, match="expected a square matrix"):
        Sites.read(path)


def test_published_order_and_times_are_of_the_same_algorithms() -> None:
    algorithms = {"steiner_literal" if name == "mixing" else name for name in ORDER}
    assert algorithms | {"random"} == set(TABLE_I)
    assert TABLE_I["steiner_literal"] > TABLE_I["clustering"] > TABLE_I["greedy"]


SITES = Sites("three", np.array([[1, 9, 5], [9, 1, np.nan], [5, np.nan, 1]]))
AT_SITES = Regime("three", "three", 1.0, (1.0,), sites=SITES)


def cell(regime: Regime, users: int = 300, local: int = 1) -> Cell:
    return Cell(regime, users, regime.ratios, samples=2, local=local, literal=local)


@pytest.mark.parametrize("regime", [*REGIMES, AT_SITES], ids=lambda r: r.key)
def test_core_costs_are_those_that_generate_gives(regime: Regime) -> None:
    for seed in range(5):
        for ratio in (*regime.ratios, 0.7):
            one = cell(regime)
            whole = generate(one.settings(ratio), seed)
            assert np.array_equal(core_at(one, ratio, seed), whole.core)


@pytest.mark.parametrize("regime", some({r.key: r for r in (*REGIMES, AT_SITES)}, 2))
def test_costs_are_those_of_plans_made_from_scratch(regime: Regime) -> None:
    task = Task(cell(regime), 0, 5)
    record = measure(task)
    assert record["problems"] == []
    assert list(record["ratios"]) == [f"{ratio:g}" for ratio in regime.ratios]
    for ratio in regime.ratios[:: len(regime.ratios) - 1 or 1]:
        network = generate(task.cell.settings(ratio), record["seed"])
        found = record["ratios"][f"{ratio:g}"]
        for name in (*CORELESS, "steiner", "steiner_literal", "local"):
            plan = solve(network, Options(name, seed=record["seed"]))
            assert found["costs"][name] == [
                plan.figures["access"],
                plan.figures["core"],
            ]
        assert found["bound"] == plan.bound


def test_local_and_steiner_literal_wire_only_the_samples_that_they_are_to() -> None:
    task = Task(cell(REGIMES[0], local=1), 1, 5)
    found = measure(task)["ratios"]["1"]
    assert list(found["costs"]) == [*CORELESS, "steiner"]
    assert "bound" not in found


def test_samples_differ_and_regimes_share_their_seeds() -> None:
    plane, independent, _ = map(cell, REGIMES)
    assert instance_seed(0, 3, plane) == instance_seed(0, 3, independent)
    seeds = {
        instance_seed(seed, number, one)
        for seed in (0, 1)
        for number in (0, 1)
        for one in (plane, cell(REGIMES[0], users=400))
    }
    assert len(seeds) == 8


@pytest.mark.parametrize(("number", "found"), [(CHECKED - 1, True), (CHECKED, False)])
def test_core_costs_of_the_first_samples_are_counted_again(
    number: int, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(demand: Demand, broker: Int32s) -> Costs:
        costs = costs_of(demand, broker)
        return replace(costs, core=costs.core + 1)

    monkeypatch.setattr(overlay, "costs_of", wrong)
    problems = measure(Task(cell(REGIMES[0], local=0), number, 5))["problems"]
    assert (
        any("greedy: says the core costs" in problem for problem in problems) == found
    )


def test_access_costs_are_counted_again_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlay, "costs_of", lambda *_: Costs(1, 0))
    problems = measure(Task(cell(REGIMES[0], local=0), CHECKED, 5))["problems"]
    assert len(problems) == 4 * len(REGIMES[0].ratios)
    assert problems[0].startswith("ratio 1, random: says access costs 1, but it is")


def test_times_are_of_every_algorithm() -> None:
    few = Timing(users=300, repeats=2, local_repeats=1)
    found = measure_times(few, 0)
    assert (found["users"], found["brokers"]) == (300, 3)
    mixing = ["steiner", "steiner_literal"]
    assert list(found["seconds"]) == [*CORELESS, *mixing, "local"]
    assert all(seconds > 0 for seconds in found["seconds"].values())


def test_an_algorithm_that_finds_no_packing_is_an_error_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lost = Unplaced(users=2, load=70, largest=40, room=39)
    task = Task(cell(REGIMES[0]), 0, 5)
    assert str(task) == "plane, 300 users, sample 0"
    with monkeypatch.context() as patched:
        patched.setattr(overlay, "search", lambda *_: lost)
        with pytest.raises(BrokerwiseError, match="local: no packing was found"):
            measure(task)
    monkeypatch.setitem(BY_NAME, "greedy", lambda *_: lost)
    with pytest.raises(BrokerwiseError, match="greedy: no packing was found"):
        measure(task)


def test_costs_that_differ_within_local_are_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def other(demand: Demand, options: Options) -> Answer | Unplaced:
        answer = search(demand, options)
        assert isinstance(answer, Answer)
        return replace(answer, costs=answer.costs | {"greedy": Costs(1, 2)})

    monkeypatch.setattr(overlay, "search", other)
    problems = measure(Task(cell(REGIMES[0]), 0, 5))["problems"]
    assert len(problems) == len(REGIMES[0].ratios)
    assert problems[0].endswith("but 3 within local")


CELL = Cell(REGIMES[0], 1000, (1.0, 10.0), samples=2, local=1)


def sample(number: int, local: int | None = None, **totals: int) -> dict[str, Any]:
    """A quarter of each cost is core's; random costs 1,200."""
    costs = {"random": 1200, "greedy": 400, "clustering": 600, "steiner": 800} | totals
    if local is not None:
        costs["local"] = local
    at: dict[str, Any] = {
        "costs": {n: [c - c // 4, c // 4] for n, c in costs.items()},
        "seconds": dict.fromkeys(costs, 0.5),
    }
    if local is not None:
        at["bound"] = 240
    ratios = {"1": at, "10": at}
    return {"number": number, "ratios": ratios, "problems": [f"wrong {number}"]}


def test_means_and_errors_are_of_ratios_not_of_costs() -> None:
    first, second = cell_results(CELL, [sample(0, local=300), sample(1, greedy=200)])
    assert (first["ratio"], second["ratio"]) == (1, 10)
    assert first["crr"]["greedy"] == {"mean": 4.5, "error": 1.5}  # 3 and 6
    assert first["crr"]["steiner"] == {"mean": 1.5, "error": 0}
    assert first["core_share"]["greedy"] == 0.25
    assert first["samples"] == 2 and not first["paper_order"]


def test_local_is_compared_on_its_own_samples() -> None:
    found, _ = cell_results(CELL, [sample(0, local=300), sample(1, greedy=200)])
    ours = found["local"]
    assert (ours["samples"], ours["best"], ours["mean"]) == (1, 1, 4)
    assert ours["others"]["greedy"]["mean"] == 3  # not 4.5
    assert ours["possible"] == 5
    assert ours["gap"] == ours["worst_gap"] == pytest.approx(0.2)
    (worse, _) = cell_results(CELL, [sample(0, local=401)])
    assert worse["local"]["best"] == 0
    (without, _) = cell_results(CELL, [sample(0)])
    assert without["local"] is None


@pytest.mark.parametrize(
    ("totals", "same"),
    [
        ({"steiner": 300, "clustering": 400, "greedy": 500}, True),
        ({"steiner": 300, "clustering": 400, "greedy": 1200}, False),
        ({"steiner": 400, "clustering": 300, "greedy": 500}, False),
    ],
)
def test_the_order_with_our_mixing_ends_above_random(
    totals: dict[str, int], same: bool
) -> None:
    (found, _) = cell_results(CELL, [sample(0, **totals)])
    assert found["paper_order"] == same


@pytest.mark.parametrize(("cost", "same"), [(300, True), (450, False)])
def test_the_papers_own_mixing_is_compared_on_its_own_samples(
    cost: int, same: bool
) -> None:
    """Our variant is no reason to say that the paper's order is there."""
    totals = {"steiner": 300, "clustering": 400, "greedy": 500}
    literal = sample(0, steiner_literal=cost, **totals)
    found, _ = cell_results(CELL, [literal, sample(1, **totals | {"greedy": 200})])
    assert not found["paper_order"]
    assert found["literal"]["samples"] == 1
    assert found["literal"]["others"]["greedy"]["mean"] == 2.4  # not the mean with 6
    assert found["literal"]["paper_order"] == same
    (without, _) = cell_results(CELL, [sample(0, **totals)])
    assert (without["literal"], without["paper_order"]) == (None, True)


def test_costs_of_nothing_reduce_nothing() -> None:
    free = dict.fromkeys(("random", "greedy", "clustering", "steiner"), 0)
    (found, _) = cell_results(CELL, [sample(0, **free)])
    assert found["crr"]["greedy"] == {"mean": 1, "error": 0}
    assert found["core_share"]["greedy"] == 0


def test_problems_say_where() -> None:
    assert cell_problems(CELL, [sample(3)]) == ["plane, 1,000 users, sample 3: wrong 3"]


def test_what_was_measured_replaces_guesses_and_mends_others() -> None:
    other = Cell(REGIMES[2], 4000, (0.01,), samples=2, local=1)
    tasks = [Task(one, number, 0) for one in (CELL, other) for number in (0, 1)]
    forecast = Forecast.of(tasks, 2, kind=kind_of, guess=guess)
    assert forecast.left == pytest.approx(sum(map(guess, tasks)) / 2)
    assert guess(tasks[2]) > guess(tasks[3])  # local
    forecast.finished(tasks[2], 10 * guess(tasks[2]) + 45)
    rest = guess(tasks[0]) + guess(tasks[1]) + guess(tasks[3])
    assert forecast.left == pytest.approx(10 * rest / 2)  # 5 s are given to guesses
    for task in (tasks[0], tasks[1], tasks[3]):
        forecast.finished(task, 1.0)
    assert forecast.left == 0


CELLS = (
    Cell(REGIMES[0], 300, (1.0, 10.0), samples=3, local=2),
    Cell(REGIMES[2], 300, (0.01,), samples=3, local=3),
)
TIMING = Timing(users=300, repeats=1, local_repeats=1)


def experiment(**fields: Any) -> Experiment:
    return Experiment(**{"cells": CELLS, "timing": TIMING, **fields})


def run(out: Path, force: bool = False, **fields: Any) -> dict[str, Any]:
    return reproduce(experiment(**fields), out, watch=lambda _: None, force=force)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "cores", lambda: 1)


@pytest.fixture
def by_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlay, "PART_SAMPLES", 2)


@pytest.mark.long
def test_samples_come_out_of_processes_as_they_do_out_of_one(tmp_path: Path) -> None:
    moments = list[Moment]()
    found = reproduce(experiment(), tmp_path / "out", watch=moments.append)
    assert found["status"] == "ok" and found["samples_missing"] == 0
    assert [m.done for m in moments] == [1, 2, 3, 4, 5, 6]
    assert {m.of for m in moments} == {6} and moments[-1].seconds_left == 0
    for cell in CELLS:
        kept = json.loads((tmp_path / f"out/cells/{cell.name}-000.json").read_text())
        for record in kept["result"]["samples"]:
            task = overlay.Task(cell, record["number"], 0)
            again = overlay.measure(task)["ratios"]
            for ratio, there in record["ratios"].items():
                assert there["costs"] == again[ratio]["costs"]
    assert [(c["regime"], c["ratio"]) for c in found["cells"]] == [
        *(("plane", 1), ("plane", 10)),
        ("core", 0.01),
    ]
    assert [c["local"]["samples"] for c in found["cells"]] == [2, 2, 3]
    assert all(c["local"]["best"] == c["local"]["samples"] for c in found["cells"])
    assert set(found["times"]["seconds"]) > set(found["published"]["seconds"])


@pytest.mark.usefixtures("alone", "by_two")
@pytest.mark.long
def test_a_second_run_computes_nothing_and_says_the_same(tmp_path: Path) -> None:
    first = run(tmp_path)
    assert (first["parts_computed"], first["parts_kept"]) == (6, 0)
    page = (tmp_path / "report.html").read_text()
    assert "core matters" in page and page.lstrip().startswith("<!DOCTYPE html>")
    again = run(tmp_path)
    assert (again["parts_computed"], again["parts_kept"]) == (0, 6)
    assert (again["cells"], again["times"]) == (first["cells"], first["times"])
    assert run(tmp_path, force=True)["parts_computed"] == 6


@pytest.mark.usefixtures("alone", "by_two")
def test_more_samples_take_up_those_that_are_there(tmp_path: Path) -> None:
    few = Cell(REGIMES[0], 300, (1.0, 10.0), samples=2, local=2)
    run(tmp_path, cells=[few], timing=None)
    found = run(tmp_path, cells=CELLS[:1], timing=None)
    assert (found["parts_kept"], found["parts_computed"]) == (2, 1)
    assert {cell["samples"] for cell in found["cells"]} == {3}


@pytest.mark.usefixtures("alone")
@pytest.mark.long
@pytest.mark.parametrize(
    "other",
    [
        {"seed": 1},
        {"cells": [Cell(REGIMES[0], 200, (1.0, 2.0), samples=1, local=1)]},
        {"cells": [Cell(REGIMES[0], 200, (1.0, 10.0), samples=1, local=0)]},
    ],
)
def test_other_settings_are_computed_again(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    few = Cell(REGIMES[0], 200, (1.0, 10.0), samples=1, local=1)
    common: dict[str, Any] = {"cells": [few], "timing": None}
    run(tmp_path, **common)
    assert run(tmp_path, **{**common, **other})["parts_computed"] == 1


@pytest.mark.usefixtures("alone", "by_two")
def test_what_was_complete_when_interrupted_is_written_and_kept(
    tmp_path: Path,
) -> None:
    def interrupt(moment: Moment) -> None:
        if moment.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(experiment(), tmp_path, watch=interrupt)
    part = json.loads((tmp_path / "results.json").read_text())
    assert (part["status"], part["samples_missing"]) == ("partial", 3)
    assert [cell["samples"] for cell in part["cells"]] == [1, 1, 2]
    said = (tmp_path / "summary.md").read_text()
    assert "Not complete: 3 samples not run yet" in said
    whole = run(tmp_path)
    assert (whole["status"], whole["parts_kept"]) == ("ok", 3)


@pytest.mark.usefixtures("by_two")
def test_the_first_samples_of_every_cell_come_first() -> None:
    parts = [part.name for part in experiment().parts()]
    assert parts == [
        *("plane-300-000", "core-300-000", "plane-300-001", "plane-300-002"),
        "core-300-002",
    ]


@pytest.mark.usefixtures("alone")
def test_what_is_wrong_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = overlay.measure

    def wrong(task: overlay.Task) -> dict[str, Any]:
        return {**honest(task), "problems": ["greedy: broker 0 carries 61 of 60"]}

    monkeypatch.setattr(overlay, "measure", wrong)
    few = [Cell(REGIMES[0], 300, (1.0,), samples=1, local=0)]
    found = run(tmp_path, cells=few, timing=None)
    assert found["status"] == "violated"
    assert found["problems"] == [
        "plane, 300 users, sample 0: greedy: broker 0 carries 61 of 60"
    ]
