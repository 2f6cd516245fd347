"""From a workload directory to a filled fleet: a plan that is written, audited, and
then appears. All of it in this process, without Spark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy.typing as npt

from brokerwise.auditing.files import staged_case
from brokerwise.auditing.memory import audit_case
from brokerwise.model.arrays import INT64_MAX
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Bandwidth, Fleet
from brokerwise.model.names import Names
from brokerwise.model.plan import Plan
from brokerwise.model.units import checked_count
from brokerwise.model.workload import Weights, Workload
from brokerwise.pipeline.plans import SavablePlan, refuse_wrong, savable
from brokerwise.pipeline.progress import Progress, Stopwatch
from brokerwise.planners.fill.problem import Options
from brokerwise.planners.fill.solve import Problem, solve
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.plan import HEADER, PlanHeader, stage_plan
from brokerwise.storage.weights import read_weights
from brokerwise.storage.workload import WorkloadHeader, read_header, read_workload

MOST_BROKERS = 1_000_000

Weighing: TypeAlias = Sequence[int] | npt.NDArray[Any] | Mapping[str, int]
"""One weight for each id, or by name; who is not named weighs 1."""


@dataclass(frozen=True)
class WeightFiles:
    """Where weights are: CSV files of `topic,weight` and `subscriber,weight`."""

    topics: Place | None = None
    subscribers: Place | None = None


NO_FILES = WeightFiles()


@dataclass(frozen=True, eq=False)
class Filled:
    """A plan that has been written, and the workload that it is for."""

    plan: Plan
    header: PlanHeader
    workload: Workload


def fill_directory(
    workload: Place,
    fleet: Fleet | Bandwidth,
    out: Place,
    options: Options,
    *,
    weights: WeightFiles = NO_FILES,
    force: bool = False,
    progress: Progress | None = None,
) -> Filled:
    """Plan, write, audit, and let the plan appear, or nothing.

    A place that may not be written, and a fleet that cannot be used, are refused
    before any work. A plan that the audit refuses is not written.
    """
    refuse_unusable(fleet)
    progress = progress or Stopwatch()
    output = Output.begin(out, HEADER, force=force)
    try:
        with progress.stage("read"):
            header, read = read_header(workload), read_workload(workload)
            found = read_weights(weights.topics, weights.subscribers, read)
            problem = Problem(read, fleet, found)
        with progress.stage("solve"):
            plan = solve(problem, options)
        with progress.stage("write"):
            written = stage_plan(output, plan, workload, header.digest)
        with progress.stage("audit"):
            _audit(output, written, workload, header)
        spent = dict(progress.seconds)
        plan, written = replace(plan, seconds=spent), replace(written, seconds=spent)
        output.commit(written.as_json())
    except BaseException:
        output.abort()
        raise
    return Filled(plan, written, read)


def fill_in_memory(
    workload: Workload,
    place: Place | None,
    fleet: Fleet | Bandwidth,
    weights: Weights,
    options: Options,
) -> SavablePlan:
    """Plan for the Python API; `place` is where the workload was read from, if so."""
    refuse_unusable(fleet)
    watch = Stopwatch()
    with watch.stage("solve"):
        plan = solve(Problem(workload, fleet, weights), options)
    return savable(replace(plan, seconds=watch.seconds), workload, place)


def weights_of(
    workload: Workload, topics: Weighing | None, subscribers: Weighing | None
) -> Weights:
    """Weights as callers have them, for the topics and subscribers of a workload."""
    weights = Weights(
        _by_id(topics, workload.topic_names, "topic"),
        _by_id(subscribers, workload.subscriber_names, "subscriber"),
    )
    weights.check(workload)
    return weights


def refuse_unusable(fleet: Fleet | Bandwidth) -> None:
    """Refuse brokers whose number is not said or too large to plan for, and more
    bandwidth than can be counted."""
    if isinstance(fleet, Bandwidth):
        number, total = -(-fleet.total // fleet.max_broker), fleet.total
    else:
        number = sum(kind.count or 0 for kind in fleet)
        total = sum((kind.count or 0) * kind.capacity for kind in fleet)
    if number > MOST_BROKERS:
        raise InputError(
            f"fleet: found {number:,} brokers, expected at most {MOST_BROKERS:,}"
        )
    if total > INT64_MAX:
        raise InputError(
            f"fleet: found {total:,} of bandwidth in all, "
            f"expected at most {INT64_MAX:,} (2^63 - 1)"
        )


def _audit(
    output: Output, header: PlanHeader, workload: Place, of: WorkloadHeader
) -> None:
    refuse_wrong(audit_case(staged_case(output.root, header, workload, of)))


def _by_id(weights: Weighing | None, names: Names, what: str) -> Any:
    if not isinstance(weights, Mapping):
        return weights
    by_id = [1] * len(names)
    for name, weight in weights.items():
        number = names.find(str(name))
        if number is None:
            raise InputError(f"{what}_weights: the workload has no {what} {name!r}")
        by_id[number] = checked_count(weight, f"{what}_weights of {name!r}")
    return by_id
