"""Provisioning for the Python API: plans that can be saved."""

from dataclasses import replace
from typing import TYPE_CHECKING

from brokerwise.model.fleet import Fleet
from brokerwise.model.workload import Workload
from brokerwise.pipeline.plans import SavablePlan, savable
from brokerwise.storage.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from brokerwise.pipeline.provision.job import Target
    from brokerwise.planners.provision.portfolio import Options


def planned_in_memory(
    workload: Workload,
    place: Place | None,
    fleet: Fleet,
    threshold: int,
    options: "Options",
) -> SavablePlan:
    """Plan in this process; `place` is where the workload was read from, if it was."""
    from brokerwise.pipeline.progress import Stopwatch
    from brokerwise.planners.provision.solve import Problem, solve

    watch = Stopwatch()
    problem = Problem(workload, fleet, threshold)
    plan = solve(problem, replace(options, stage=watch.stage))
    return savable(replace(plan, seconds=watch.seconds), workload, place)


def planned_on_spark(
    spark: "SparkSession",
    place: Place,
    target: "Target",
    options: "Options",
    force: bool,
) -> SavablePlan:
    """Plan on Spark and write the plan, whose pairs stay on disk."""
    from brokerwise.pipeline.provision.engines import SparkEngine
    from brokerwise.pipeline.provision.job import provision_directory

    engine = SparkEngine(spark, place)
    [made] = provision_directory(engine, [target], options, force=force)
    return savable(made.plan, None, place)
