"""What samples come to, and how long the rest will take."""

from typing import Any

import pytest

from brokerwise.experiments.overlay_forecast import forecast as forecast_of
from brokerwise.experiments.overlay_forecast import guess
from brokerwise.experiments.overlay_measure import Task
from brokerwise.experiments.overlay_settings import REGIMES, Cell
from brokerwise.experiments.overlay_statistics import cell_problems, cell_results

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
    forecast = forecast_of(tasks, workers=2)
    assert forecast.left == pytest.approx(sum(map(guess, tasks)) / 2)
    assert guess(tasks[2]) > guess(tasks[3])  # local
    forecast.finished(tasks[2], 10 * guess(tasks[2]) + 45)
    rest = guess(tasks[0]) + guess(tasks[1]) + guess(tasks[3])
    assert forecast.left == pytest.approx(10 * rest / 2)  # 5 s are given to guesses
    for task in (tasks[0], tasks[1], tasks[3]):
        forecast.finished(task, 1.0)
    assert forecast.left == 0
