"""Provisioning of workload directories: both engines, the same plan."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.regimes import Regime
from pyspark.sql import SparkSession
from tests.tiers import some

from brokerwise.auditing.memory import audit_directory
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.plan import Plan, Status
from brokerwise.model.workload import Workload
from brokerwise.pipeline.plans import RefusedPlanError
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.pipeline.provision import scan as scan_module
from brokerwise.pipeline.provision.engines import Engine, MemoryEngine, SparkEngine
from brokerwise.pipeline.provision.job import (
    Provisioned,
    Target,
    provision_directory,
)
from brokerwise.planners.provision.draft import Draft
from brokerwise.planners.provision.portfolio import SELECTIONS, Options
from brokerwise.planners.provision.scan import MemoryScan
from brokerwise.storage import subscribers as parts
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.plan import PlanHeader, read_plan, read_plan_header
from brokerwise.storage.workload import write_workload

FLEET = Fleet.types(BrokerType("b", 60_000, hour_usd=0.15), gigabyte_usd=0.12)


def many_people(seed: int, own_thresholds: bool = False) -> Workload:
    """140,000 subscribers: three blocks."""
    rng = np.random.default_rng(seed)
    people, topics = 140_000, 500
    each = rng.integers(1, 5, people)
    owner = np.repeat(np.arange(people), each)
    popular = np.minimum((rng.pareto(0.8, len(owner)) * 3).astype(int), topics - 1)
    workload = Workload.from_pairs(
        topics=popular.tolist(),
        subscribers=[f"v{v:06d}" for v in owner],
        rates=rng.integers(0, 60, topics),
    )
    if own_thresholds:
        own = rng.integers(-1, 50, workload.subscribers)
        workload = replace(workload, thresholds=own)
    return workload


@pytest.fixture(scope="module", params=[False, True], ids=["common", "own"])
def directory(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Place:
    """A workload of three parts, one to a block."""
    place = Place(str(tmp_path_factory.mktemp("workload") / "w"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PAIRS_PER_PART", 50_000)
        header = write_workload(many_people(1, request.param), place)
    assert len(header.files["interests"]) == 3
    return place


def plan_both(
    spark: SparkSession, workload: Place, out: Path, options: Options
) -> tuple[Provisioned, Provisioned]:
    engines: dict[str, Engine] = {
        "memory": MemoryEngine(workload),
        "spark": SparkEngine(spark, workload),
    }
    made = [
        provision_directory(
            engine, [Target(30, FLEET, Place(str(out / name)))], options
        )[0]
        for name, engine in engines.items()
    ]
    return made[0], made[1]


@pytest.mark.parametrize("selection", some({name: name for name in SELECTIONS}, 2))
def test_both_engines_write_the_same_plan(
    spark: SparkSession, directory: Place, tmp_path: Path, selection: str
) -> None:
    options = Options(selection=selection, rounds=2, seed=7)
    memory, spark_ = plan_both(spark, directory, tmp_path, options)
    assert memory.header is not None and spark_.header is not None
    assert memory.header.digest == spark_.header.digest
    assert memory.header.figures == spark_.header.figures
    assert memory.header.bound == spark_.header.bound
    assert memory.plan.figures["brokers_bound"] > 5
    runs = np.bincount(spark_.plan.placement.topic)
    assert runs.max() > 1, "some topic should be cut across brokers"
    assert audit_directory(Place(str(tmp_path / "spark"))).ok
    whole = read_plan(Place(str(tmp_path / "spark")))
    assert whole.selected.pairs == memory.plan.selected.pairs


def test_first_fit_is_the_same_too(
    spark: SparkSession, directory: Place, tmp_path: Path
) -> None:
    options = Options(selection="greedy", packing="first-fit")
    memory, spark_ = plan_both(spark, directory, tmp_path, options)
    assert memory.header is not None and spark_.header is not None
    assert memory.header.digest == spark_.header.digest


def test_the_cheapest_of_all_combinations_is_the_same_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Where topics are large against brokers, and `random` wins."""
    problem = Regime("large topics", 0.4, 10, 40, 400, threshold=0.2).problem()
    place = Place(str(tmp_path / "w"))
    write_workload(problem.workload, place)
    plans = []
    for engine in (MemoryEngine(place), SparkEngine(spark, place)):
        out = Place(str(tmp_path / type(engine).__name__))
        target = Target(problem.threshold, problem.fleet, out)
        [made] = provision_directory(engine, [target], Options(rounds=1))
        plans.append(made)
    memory, spark_ = plans
    assert memory.plan.options == spark_.plan.options
    assert memory.plan.options["selection"] == "random"
    assert memory.plan_digest == spark_.plan_digest


def test_several_targets_share_passes_and_appear_together(
    spark: SparkSession, directory: Place, tmp_path: Path
) -> None:
    double = Fleet.types(BrokerType("b", 120_000, hour_usd=0.3), gigabyte_usd=0.12)
    targets = [
        Target(threshold, fleet, Place(str(tmp_path / f"{threshold}-{name}")))
        for threshold in (10, 30)
        for name, fleet in (("one", FLEET), ("two", double))
    ]
    watch = Stopwatch()
    made = provision_directory(
        SparkEngine(spark, directory), targets, Options(), progress=watch
    )
    assert [m.target for m in made] == targets
    assert {"select", "pack", "bound", "place", "audit"} <= set(watch.seconds)
    for result in made:
        header = read_plan_header(result.target.out)
        assert header.threshold == result.target.threshold
        assert header.digest == result.plan_digest
    costs = [m.plan.objective for m in made]
    assert costs[0] is not None and costs[2] is not None and costs[0] < costs[2]
    assert {p.name for p in tmp_path.iterdir()} == {
        t.out.uri.split("/")[-1] for t in targets
    }


def test_an_infeasible_problem_writes_nothing(
    spark: SparkSession, directory: Place, tmp_path: Path
) -> None:
    small = Fleet.types(BrokerType("tiny", 20))
    for engine in (MemoryEngine(directory), SparkEngine(spark, directory)):
        target = Target(30, small, Place(str(tmp_path / "out" / "plan")))
        (result,) = provision_directory(engine, [target], Options())
        assert result.plan.status is Status.INFEASIBLE
        assert "The smallest capacity that works is" in result.plan.reason
        assert result.header is None
        assert list((tmp_path / "out").iterdir()) == []


def test_a_plan_that_the_audit_refuses_does_not_appear(
    directory: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = MemoryEngine(directory)
    write = engine.write

    def forged(
        scan: MemoryScan, draft: Draft, output: Output
    ) -> tuple[Plan, PlanHeader]:
        plan, header = write(scan, draft, output)
        return plan, replace(header, figures={**header.figures, "load": 1})

    monkeypatch.setattr(engine, "write", forged)
    with pytest.raises(RefusedPlanError, match="nothing was written"):
        provision_directory(
            engine, [Target(30, FLEET, Place(str(tmp_path / "plan")))], Options()
        )
    assert list(tmp_path.iterdir()) == []


def test_an_existing_plan_is_kept_unless_forced(
    directory: Place, tmp_path: Path
) -> None:
    engine = MemoryEngine(directory)
    target = Target(30, FLEET, Place(str(tmp_path / "plan")))
    provision_directory(engine, [target], Options())
    with pytest.raises(InputError, match="exists already; nothing was written"):
        provision_directory(engine, [target], Options())
    provision_directory(engine, [target], Options(), force=True)


def test_counts_of_many_groups_are_added_in_tasks(
    spark: SparkSession,
    directory: Place,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scan_module, "FAN_IN", 2)
    memory, spark_ = plan_both(spark, directory, tmp_path, Options(rounds=1))
    assert memory.plan_digest == spark_.plan_digest


def test_interests_in_topics_that_are_not_there_are_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = Place(str(tmp_path / "w"))
    header = write_workload(many_people(2), place)
    fewer = replace(header, topics=100)
    engine = SparkEngine(spark, place)
    engine.header = fewer
    with pytest.raises(InputError, match="found topics 0 to 499, expected 0 to 99"):
        provision_directory(
            engine, [Target(30, FLEET, Place(str(tmp_path / "plan")))], Options()
        )
    assert [p.name for p in tmp_path.iterdir()] == ["w"]
