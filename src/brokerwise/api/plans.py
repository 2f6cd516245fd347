"""Plans for workloads: make, read, write and audit them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from brokerwise.api.callers import Path, place_of, session
from brokerwise.api.workloads import read_workload
from brokerwise.model.catalog import Catalog, fleet_of, parse_broker
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Bandwidth, Fleet
from brokerwise.model.plan import WITHOUT_PLAN, Plan
from brokerwise.model.workload import Workload
from brokerwise.pipeline.plans import SavablePlan
from brokerwise.storage import catalog as catalog_storage
from brokerwise.storage import plan as plan_storage
from brokerwise.storage import workload as workload_storage

if TYPE_CHECKING:
    from brokerwise.pipeline.fill import Weighing


def read_plan(directory: Path) -> Plan:
    """A whole plan in memory."""
    return plan_storage.read_plan(place_of(directory))


def write_plan(
    plan: Plan, directory: Path, *, workload: Path, force: bool = False
) -> str:
    """Write a plan for the workload in a directory; returns the plan's digest."""
    place = place_of(workload)
    header = plan_storage.write_plan(
        plan,
        place_of(directory),
        workload=place,
        workload_digest=workload_storage.read_header(place).digest,
        force=force,
    )
    return header.digest


def provision(
    workload: Workload | Path,
    fleet: Fleet,
    threshold: int = 100,
    *,
    selection: str = "cheapest",
    packing: str = "cheapest",
    rounds: int | None = None,
    seed: int = 0,
    seconds: float | None = None,
    out: Path | None = None,
    force: bool = False,
) -> SavablePlan:
    """The cheapest brokers of a fleet with which every subscriber gets its threshold.

    With `out` the plan is audited and written there. A workload directory that is too
    large for this process is planned on Spark and needs it: the pairs of such a plan
    are on disk only. That there is no plan is an answer: see the plan's `status`
    (`infeasible`: that is proven; `unknown`: none was found) and `reason`. `tried`
    are the ways that found none, and `figures` what is known then: `load_bound`,
    `brokers_bound` and `brokers_found`.
    """
    from brokerwise.pipeline.progress import deadline
    from brokerwise.pipeline.provision.engines import IN_MEMORY
    from brokerwise.pipeline.provision.job import Target
    from brokerwise.pipeline.provision.planned import (
        planned_in_memory,
        planned_on_spark,
    )
    from brokerwise.planners.provision.portfolio import Options

    options = Options(selection, packing, rounds, seed, deadline(seconds))
    place = None if isinstance(workload, Workload) else place_of(workload)
    if place is not None and workload_storage.read_header(place).pairs > IN_MEMORY:
        if out is None:
            raise InputError(
                f"workload {place} is too large to be planned in memory: "
                "say with out= where the plan goes"
            )
        target = Target(threshold, fleet, place_of(out))
        return planned_on_spark(session(), place, target, options, force)
    read = workload if isinstance(workload, Workload) else read_workload(workload)
    plan = planned_in_memory(read, place, fleet, threshold, options)
    if out is not None and plan.status not in WITHOUT_PLAN:
        plan.save(out, force=force)
    return plan


def fill(
    workload: Workload | Path,
    fleet: Fleet | Bandwidth,
    *,
    algorithm: str = "columns",
    bound: str = "certified",
    topic_weights: "Weighing | None" = None,
    subscriber_weights: "Weighing | None" = None,
    seed: int = 0,
    seconds: float | None = None,
    out: Path | None = None,
    force: bool = False,
) -> SavablePlan:
    """The most data that given brokers, or a bandwidth to be split, can deliver.

    Weights are one for each id, or a mapping from names, in which who is missing
    weighs 1; the objective is then the weighted sum. With `out` the plan is audited
    and written there. All of it happens in this process, without Spark.
    """
    from brokerwise.pipeline.fill import fill_in_memory, weights_of
    from brokerwise.pipeline.progress import deadline
    from brokerwise.planners.fill.problem import Options
    from brokerwise.storage.output import Output

    options = Options(algorithm, bound, seed, deadline(seconds))
    if out is not None:  # what may not be replaced should not wait for the plan
        Output.begin(place_of(out), plan_storage.HEADER, force=force).abort()
    place = None if isinstance(workload, Workload) else place_of(workload)
    read = workload if isinstance(workload, Workload) else read_workload(workload)
    weights = weights_of(read, topic_weights, subscriber_weights)
    plan = fill_in_memory(read, place, fleet, weights, options)
    if out is not None:
        plan.save(out, force=force)
    return plan


def catalog(file: Path | None = None) -> Catalog:
    """The broker types that come with the program, or those of a CSV file."""
    if file is None:
        return catalog_storage.shipped_catalog()
    return catalog_storage.read_catalog(place_of(file))


def fleet(
    types: str | Sequence[str],
    workload: Workload | Path,
    *,
    catalog: Catalog | None = None,
    peak_to_mean: float = 1.0,
    headroom: float = 0.0,
    gigabyte_usd: float | None = None,
    gigabyte_in_usd: float | None = None,
) -> Fleet:
    """Broker types by name, such as "c3.large,c3.xlarge", as brokers for a workload.

    `headroom` is the share of every broker that stays free; prices of a gigabyte are
    the catalog's unless given.
    """
    measures: Workload | workload_storage.WorkloadHeader
    if isinstance(workload, Workload):
        measures = workload
    else:
        measures = workload_storage.read_header(place_of(workload))
    return fleet_of(
        catalog or catalog_storage.shipped_catalog(),
        parse_broker(types) if isinstance(types, str) else types,
        period_seconds=measures.period_seconds,
        message_bytes=measures.message_bytes,
        peak_to_mean=peak_to_mean,
        headroom=headroom,
        gigabyte_usd=gigabyte_usd,
        gigabyte_in_usd=gigabyte_in_usd,
    )
