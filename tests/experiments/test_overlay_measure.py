"""One network of the experiment, measured."""

from dataclasses import replace

import numpy as np
import pytest
from tests.tiers import some

from brokerwise.experiments import overlay_measure
from brokerwise.experiments.overlay_measure import (
    CHECKED,
    CORELESS,
    Task,
    core_at,
    instance_seed,
    measure,
)
from brokerwise.experiments.overlay_settings import REGIMES, Cell, Regime, Sites
from brokerwise.experiments.overlay_times import Timing, measure_times
from brokerwise.model.arrays import Int32s
from brokerwise.model.errors import BrokerwiseError
from brokerwise.pipeline.networks.generate import generate
from brokerwise.planners.overlay.demand import Demand
from brokerwise.planners.overlay.evaluate import Costs, costs_of
from brokerwise.planners.overlay.heuristics import BY_NAME
from brokerwise.planners.overlay.options import Options
from brokerwise.planners.overlay.placing import Unplaced
from brokerwise.planners.overlay.search import Answer, search
from brokerwise.planners.overlay.solve import solve

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

    monkeypatch.setattr(overlay_measure, "costs_of", wrong)
    problems = measure(Task(cell(REGIMES[0], local=0), number, 5))["problems"]
    assert (
        any("greedy: says the core costs" in problem for problem in problems) == found
    )


def test_access_costs_are_counted_again_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlay_measure, "costs_of", lambda *_: Costs(1, 0))
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
        patched.setattr(overlay_measure, "search", lambda *_: lost)
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

    monkeypatch.setattr(overlay_measure, "search", other)
    problems = measure(Task(cell(REGIMES[0]), 0, 5))["problems"]
    assert len(problems) == len(REGIMES[0].ratios)
    assert problems[0].endswith("but 3 within local")
