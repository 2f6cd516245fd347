"""A plan directory and the workload it is judged against."""

from dataclasses import dataclass

from brokerwise.audit.plan_files import PlanFiles, open_plan, staged_plan
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.storage.place import Place
from brokerwise.storage.plan import PlanHeader
from brokerwise.storage.workload import WorkloadHeader, read_header


@dataclass(frozen=True, eq=False)
class Case:
    """What an audit needs to know before it reads any pair."""

    plan: PlanFiles
    workload: Place
    header: WorkloadHeader


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
        return _matched(files, place, read_header(place))
    except DigestMismatchError:
        raise
    except InputError as cause:
        raise InputError(
            f"the workload of {plan} is not where it says: {cause.message}",
            hint="Name its workload: brokerwise audit PLAN --workload DIR",
        ) from cause


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
    return Case(plan, workload, header)
