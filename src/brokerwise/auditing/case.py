"""A plan directory and the workload it is judged against."""

from dataclasses import dataclass

from brokerwise.auditing.plan_files import PlanFiles, open_plan, staged_plan
from brokerwise.model.errors import DigestMismatchError, InputError, MissingBasisError
from brokerwise.model.workload import Weights
from brokerwise.storage.place import Place
from brokerwise.storage.plan import HEADER, PlanHeader, plan_table
from brokerwise.storage.weights import weights_of
from brokerwise.storage.workload import WorkloadHeader, read_header


@dataclass(frozen=True, eq=False)
class Case:
    """What an audit needs to know before it reads any pair."""

    plan: PlanFiles
    workload: Place
    header: WorkloadHeader
    weights: Weights


def open_case(plan: Place, workload: Place | None = None) -> Case:
    """A plan and its workload, which is where the plan says unless given.

    Raises InputError for a directory or a small file that cannot be used, and
    DigestMismatchError for a workload that is not the plan's. Reads no pair.
    """
    files = open_plan(plan.absolute())
    if workload is not None:
        return _matched(files, workload.absolute(), read_header(workload))
    place = Place(files.header.workload["path"]).absolute()
    try:
        header = read_header(place)
    except InputError as cause:
        raise MissingBasisError(
            str(plan), "workload", str(place), cause.message
        ) from cause
    return _matched(files, place, header)


def staged_case(
    plan: Place, header: PlanHeader, workload: Place, workload_header: WorkloadHeader
) -> Case:
    """A plan that is written but for its plan.json, which will hold `header`.

    So a plan can be audited before it appears. Raises what `open_case` does.
    """
    files = staged_plan(plan.absolute(), header)
    return _matched(files, workload.absolute(), workload_header)


def _matched(plan: PlanFiles, workload: Place, header: WorkloadHeader) -> Case:
    stated = plan.header.workload["digest"]
    if header.digest != stated:
        raise DigestMismatchError(f"workload {workload}", header.digest, stated)
    return Case(plan, workload, header, _weights(plan, header))


def _weights(plan: PlanFiles, workload: WorkloadHeader) -> Weights:
    """The plan's weights, one for each topic or subscriber of the workload."""
    numbers = {
        "topic_weights": workload.topics,
        "subscriber_weights": workload.subscribers,
    }
    for table, number in plan.header.weighted.items():
        if number != numbers[table]:
            raise InputError(
                f"{plan.place / HEADER}: {table} are for {number:,}, "
                f"the workload has {numbers[table]:,}"
            )
    files = {name: plan_table(plan.place, plan.header, name) for name in plan.weights}
    return weights_of(files, plan.weights, numbers)
