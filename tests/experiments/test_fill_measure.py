"""One instance, drawn and filled."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from brokerwise.api import uniform
from brokerwise.experiments import fill_measure
from brokerwise.experiments.fill_measure import (
    Task,
    instance,
    instance_seed,
    kernel_ms,
    measure,
)
from brokerwise.experiments.fill_settings import (
    HIGH,
    HOMOGENEOUS,
    LOW_PRINTED,
    SMALL,
    Cell,
    Shape,
)
from brokerwise.planners.fill.filling import Filling, fill_brokers
from brokerwise.planners.fill.problem import Demand, Draft, Options

TINY = Cell(Shape(12, 12, 3), HIGH, capacity=60, brokers=3)
TASK = Task(TINY, number=1, seed=4, seconds=5)


def test_an_instance_is_the_workload_that_its_seed_makes() -> None:
    seed = instance_seed(4, 1, SMALL[0])
    workload = uniform(topics=100, subscribers=100, each=5, rates="1-19", seed=seed)
    demand = instance(SMALL[0], HIGH, seed)
    assert demand.rates.tolist() == workload.rates.tolist()
    assert demand.followers.tolist() == workload.followers().tolist()
    assert demand.total == int(workload.rates @ workload.followers())


def test_instances_differ_by_number_seed_and_shape() -> None:
    seeds = {
        instance_seed(seed, number, shape)
        for seed in (0, 1)
        for number in range(20)
        for shape in SMALL
    }
    assert len(seeds) == 80


def test_distributions_share_their_pairs() -> None:
    seed = instance_seed(0, 0, SMALL[0])
    even, low = (instance(SMALL[0], d, seed) for d in (HOMOGENEOUS, LOW_PRINTED))
    assert sorted(even.followers) == sorted(low.followers)
    assert set(even.rates) == {10}
    assert min(low.rates) >= 8 and max(low.rates) <= 19 and len(set(low.rates)) > 5


def test_a_record_has_what_each_algorithm_delivers_and_no_problems() -> None:
    record = measure(TASK)
    assert record["problems"] == []
    demand = instance(TINY.shape, HIGH, record["seed"])
    assert record["wanted"] == demand.total > record["bound"]
    assert max(record["greedy"], record["mkp"]) <= record["columns"] <= record["bound"]
    assert record["bound"] <= record["bound_paper"] == 180
    assert 0 < record["seconds"] < 10
    for name in ("greedy", "mkp"):
        found = fill_brokers(
            demand.carried(60)[0], np.full(3, 60), Options(name, bound="paper")
        )
        assert record[name] == found.value
        assert record[f"{name}_ms"] > 0


def test_the_same_task_has_the_same_record_but_for_times() -> None:
    def timeless(record: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in record.items() if k != "seconds" and "_ms" not in k}

    assert timeless(measure(TASK)) == timeless(measure(TASK))


def test_only_as_many_instances_as_wanted_get_a_certificate() -> None:
    some = replace(TINY, columns=1)
    assert "columns" in measure(replace(TASK, cell=some, number=0))
    assert "columns" not in measure(replace(TASK, cell=some, number=1))


def test_a_filling_that_is_wrong_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def dishonest(demand: Demand, capacities: Any, options: Options) -> Filling:
        found = fill_brokers(demand, capacities, options)
        if options.algorithm == "mkp":  # all on the first broker
            topic = np.unique(found.draft.topic)
            pairs = demand.followers[topic]
            draft = Draft(topic.astype(np.int32), np.zeros_like(topic), pairs)
            return replace(found, draft=draft)
        if options.algorithm == "columns":
            return replace(found, value=found.value + 1, bound=found.value)
        return found

    monkeypatch.setattr(fill_measure, "fill_brokers", dishonest)
    problems = " / ".join(measure(TASK)["problems"])
    assert "mkp: broker 0 carries" in problems
    assert "mkp: says" in problems
    assert "columns: says" in problems
    assert "above the bound" in problems
    assert "greedy:" not in problems


def test_a_kernels_time_is_the_median_of_several_runs() -> None:
    calls = list[Any]()
    demand = instance(TINY.shape, HIGH, 3)
    kernel_ms(lambda *arrays: calls.append(arrays), demand, np.full(3, 60))
    assert len(calls) == fill_measure.REPEATS
    assert len(calls[0]) == 5
