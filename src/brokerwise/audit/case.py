"""A plan directory and the workload it is judged against."""

from dataclasses import dataclass

from brokerwise.audit.plan_files import PlanFiles, open_plan
from brokerwise.model.errors import DigestMismatchError
from brokerwise.storage.place import Place
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
    stated = files.header.workload
    place = (workload or Place(stated["path"])).absolute()
    header = read_header(place)
    if header.digest != stated["digest"]:
        raise DigestMismatchError(f"workload {place}", header.digest, stated["digest"])
    return Case(files, place, header)
