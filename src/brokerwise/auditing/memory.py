"""The audit of a plan that fits in memory, on numpy arrays and without Spark."""

from dataclasses import replace

from brokerwise.auditing.case import Case, open_case
from brokerwise.auditing.claims import Claims, claims_of_plan
from brokerwise.auditing.costs import Period
from brokerwise.auditing.count_arrays import recounted
from brokerwise.auditing.findings import Audit, Violation
from brokerwise.auditing.judgement import Naming, judged, name_in, summed_up
from brokerwise.auditing.plan_files import (
    block_digests,
    digest_violations,
    disordered,
    inspect_placement,
    read_placement,
)
from brokerwise.auditing.recount import Recount
from brokerwise.auditing.rows import Runs, rows_of_plan, rows_on_disk, runs_on_disk
from brokerwise.auditing.workload_files import check_workload, inspect_workload
from brokerwise.model.plan import Plan
from brokerwise.model.workload import Workload
from brokerwise.storage.place import Place
from brokerwise.storage.workload import read_workload


def violations(plan: Plan, workload: Workload) -> list[Violation]:
    """All that is wrong with a plan; the first few of each check are named.

    Shares no code with planners and believes nothing that the plan says. Costs a
    sort of the pairs at most, and a few arrays of their length. Raises InputError for
    weights that are not one for each topic or subscriber of the workload.
    """
    claims = claims_of_plan(plan)
    runs = Runs(plan.placement.topic, plan.placement.broker, plan.placement.pairs)
    plan.weights.check(workload)
    recount = recounted(claims, rows_of_plan(plan), runs, workload, plan.weights)
    return _judged(claims, recount, workload)


def audit_directory(plan: Place, workload: Place | None = None) -> Audit:
    """Audit a plan directory against its workload, all of it in memory.

    `workload` is where the plan says unless given. Raises InputError for a directory
    or a file that cannot be used, DigestMismatchError for a workload that is not the
    plan's or has changed. The findings are those of the Spark engine.
    """
    return audit_case(open_case(plan, workload))


def audit_case(case: Case) -> Audit:
    """Audit a plan that was opened, or is staged, all of it in memory."""
    files, place, header = case.plan, case.workload, case.header
    names = header.files["interests"]
    check_workload(place, header, [inspect_workload(place, n) for n in names])
    parts = [inspect_placement(files.place, name) for name in files.parts]
    wanted = read_workload(place)
    rows = rows_on_disk([read_placement(files.place, name) for name in files.parts])
    runs = runs_on_disk(files.assignment)
    recount = recounted(files.claims, rows, runs, wanted, case.weights)
    recount = replace(recount, disordered=disordered(parts))
    found = digest_violations(files, block_digests(parts))
    found += _judged(files.claims, recount, wanted)
    return summed_up(files.claims, recount, files.header.digest, found)


def _judged(claims: Claims, recount: Recount, workload: Workload) -> list[Violation]:
    naming = Naming(name_in(workload.topic_names), name_in(workload.subscriber_names))
    own = workload.thresholds is not None
    period = Period.of(workload)
    return judged(claims, recount, naming, period, own_thresholds=own)
