"""The Python API: the verbs of the command line, on objects and directories.

What works on data of any size runs on Spark: on the session that is active, or on
a local one that is started for the purpose and ends with the process.
"""

import atexit
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from brokerwise.audit.findings import Audit, Violation
from brokerwise.audit.memory import audit_directory, violations
from brokerwise.model.catalog import Catalog, fleet_of, parse_broker
from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.model.fleet import Bandwidth, BrokerType, Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.names import Names
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status
from brokerwise.model.profile import Profile
from brokerwise.model.workload import Workload
from brokerwise.pipeline.savable import SavablePlan
from brokerwise.planners.provision.budget import Answer, affordable
from brokerwise.storage import catalog as catalog_storage
from brokerwise.storage import plan as plan_storage
from brokerwise.storage import workload as workload_storage
from brokerwise.storage.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from brokerwise.pipeline.fill import Weighing
    from brokerwise.pipeline.ingest.job import Ingested

Path: TypeAlias = str | PathLike[str]
Paths: TypeAlias = Path | list[Path] | tuple[Path, ...]

__all__ = [
    "Answer",
    "Audit",
    "Bandwidth",
    "BrokerType",
    "Brokers",
    "BrokerwiseError",
    "Catalog",
    "Fleet",
    "InputError",
    "Interests",
    "Names",
    "Placement",
    "Plan",
    "Profile",
    "SavablePlan",
    "Status",
    "Violation",
    "Workload",
    "affordable",
    "audit",
    "catalog",
    "fill",
    "fleet",
    "generate",
    "ingest",
    "profile",
    "provision",
    "read_plan",
    "read_workload",
    "uniform",
    "write_plan",
    "write_workload",
]


def read_workload(directory: Path, *, verify: bool = False) -> Workload:
    """A whole workload in memory; with `verify` its digest is recomputed."""
    return workload_storage.read_workload(_place(directory), verify=verify)


def write_workload(workload: Workload, directory: Path, *, force: bool = False) -> str:
    """Write a workload; returns its digest."""
    place = _place(directory)
    return workload_storage.write_workload(workload, place, force=force).digest


def read_plan(directory: Path) -> Plan:
    """A whole plan in memory."""
    return plan_storage.read_plan(_place(directory))


def write_plan(
    plan: Plan, directory: Path, *, workload: Path, force: bool = False
) -> str:
    """Write a plan for the workload in a directory; returns the plan's digest."""
    place = _place(workload)
    header = plan_storage.write_plan(
        plan,
        _place(directory),
        workload=place,
        workload_digest=workload_storage.read_header(place).digest,
        force=force,
    )
    return header.digest


def uniform(
    *, topics: int, subscribers: int, each: int, rates: int | str, seed: int = 0
) -> Workload:
    """A workload in which all topics are equally likely, and all rates of a range
    such as "8-19"; the same as `generate uniform` and ingest make."""
    from brokerwise.pipeline.uniform import (
        RateRange,
        Uniform,
        draw_rates,
        pair_blocks,
    )

    trace = Uniform(topics, subscribers, each, RateRange.parse(str(rates)))
    drawn = draw_rates(trace, seed).tolist()
    blocks = list(pair_blocks(trace, seed))
    return Workload.from_pairs(
        topics=[f"t{t}" for t in np.concatenate([b[0] for b in blocks]).tolist()],
        subscribers=[f"u{s}" for s in np.concatenate([b[1] for b in blocks]).tolist()],
        rates={f"t{t}": rate for t, rate in enumerate(drawn)},
    )


def generate(
    shape: str, *, scale: float, out: Path, seed: int = 0, force: bool = False
) -> dict[str, Any]:
    """Write a trace shaped like "spotify" or "twitter", on Spark.

    Returns its header: counts, files, and what made it.
    """
    from brokerwise.pipeline.generate import generate_trace
    from brokerwise.pipeline.progress import Stopwatch
    from brokerwise.pipeline.shapes.published import SHAPES, Size

    if shape not in SHAPES:
        raise InputError(
            f"shape: found {shape!r}, expected {' or '.join(sorted(SHAPES))}"
        )
    return generate_trace(
        Size(SHAPES[shape], scale),
        seed,
        _place(out),
        session=_open_session,
        progress=Stopwatch(),
        force=force,
    )


def ingest(
    *,
    pairs: Paths,
    out: Path,
    rates: Paths = (),
    events: Paths = (),
    subscribers: Paths = (),
    columns: Mapping[str, str] | None = None,
    force: bool = False,
    **options: Any,
) -> "Ingested":
    """Read raw files into a workload directory, on Spark.

    `columns` maps a role (topic, subscriber, rate, ...) to the name or number of
    its column; further options are those of `IngestOptions`.
    """
    from brokerwise.pipeline.ingest.job import ingest as run
    from brokerwise.pipeline.ingest.options import IngestOptions
    from brokerwise.pipeline.progress import Stopwatch

    asked = IngestOptions(
        pairs=_paths(pairs),
        rates=_paths(rates),
        events=_paths(events),
        subscribers=_paths(subscribers),
        columns={r: tuple(c.split(",")) for r, c in (columns or {}).items()},
        **options,
    )
    return run(
        asked,
        _place(out),
        session=_open_session,
        progress=Stopwatch(),
        force=force,
    )


def profile(workload: Workload | Path) -> Profile:
    """What a workload looks like; a directory is counted by Spark."""
    from brokerwise.pipeline.profile import profile_directory, profile_workload

    if isinstance(workload, Workload):
        return profile_workload(workload)
    return profile_directory(_session(), _place(workload))


def provision(
    workload: Workload | Path,
    fleet: Fleet,
    threshold: int = 100,
    *,
    selection: str = "shared",
    packing: str = "tight",
    rounds: int | None = None,
    seed: int = 0,
    seconds: float | None = None,
    out: Path | None = None,
    force: bool = False,
) -> SavablePlan:
    """The cheapest brokers of a fleet with which every subscriber gets its threshold.

    With `out` the plan is audited and written there. A workload directory that is too
    large for this process is planned on Spark and needs it: the pairs of such a plan
    are on disk only. An infeasible problem is an answer: see the plan's `status` and
    `reason`.
    """
    from brokerwise.pipeline.deadline import deadline
    from brokerwise.pipeline.provision.engines import IN_MEMORY
    from brokerwise.pipeline.provision.job import Target
    from brokerwise.pipeline.provision.planned import (
        planned_in_memory,
        planned_on_spark,
    )
    from brokerwise.planners.provision.options import Options

    options = Options(selection, packing, rounds, seed, deadline(seconds))
    place = None if isinstance(workload, Workload) else _place(workload)
    if place is not None and workload_storage.read_header(place).pairs > IN_MEMORY:
        if out is None:
            raise InputError(
                f"workload {place} is too large to be planned in memory: "
                "say with out= where the plan goes"
            )
        target = Target(threshold, fleet, _place(out))
        return planned_on_spark(_session(), place, target, options, force)
    read = workload if isinstance(workload, Workload) else read_workload(workload)
    plan = planned_in_memory(read, place, fleet, threshold, options)
    if out is not None and plan.status is not Status.INFEASIBLE:
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
    from brokerwise.pipeline.deadline import deadline
    from brokerwise.pipeline.fill import fill_in_memory, weights_of
    from brokerwise.planners.fill.options import Options
    from brokerwise.storage.output import Output

    options = Options(algorithm, bound, seed, deadline(seconds))
    if out is not None:  # what may not be replaced should not wait for the plan
        Output.begin(_place(out), plan_storage.HEADER, force=force).abort()
    place = None if isinstance(workload, Workload) else _place(workload)
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
    return catalog_storage.read_catalog(_place(file))


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
        measures = workload_storage.read_header(_place(workload))
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


def audit(
    plan: Plan | Path, workload: Workload | Path | None = None
) -> list[Violation]:
    """What is wrong with a plan, recomputed from scratch in this process.

    A plan in memory needs its workload, unless it knows it; a plan directory says
    where its own is.
    """
    if isinstance(plan, Plan):
        if workload is None and isinstance(plan, SavablePlan):
            workload = plan.workload
        if not isinstance(workload, Workload):
            raise InputError("a plan in memory is audited against a Workload in memory")
        return violations(plan, workload)
    if isinstance(workload, Workload):
        raise InputError("a plan directory is audited against a workload directory")
    where = None if workload is None else _place(workload)
    return list(audit_directory(_place(plan), where).violations)


def _open_session() -> "AbstractContextManager[SparkSession]":
    return nullcontext(_session())


def _session() -> "SparkSession":
    from pyspark.sql import SparkSession

    from brokerwise.pipeline.session import start_session

    running = SparkSession.getActiveSession()
    if running is None:
        running = start_session()
        atexit.register(running.stop)
    return running


def _place(path: Path) -> Place:
    return Place(fspath(path))


def _paths(paths: Paths) -> tuple[str, ...]:
    if isinstance(paths, list | tuple):
        return tuple(fspath(path) for path in paths)
    return (fspath(paths),)
