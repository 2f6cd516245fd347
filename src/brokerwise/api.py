"""The Python API: the verbs of the command line, on objects and directories.

What works on data of any size runs on Spark: on the session that is active, or on
a local one that is started for the purpose and ends with the process.
"""

import atexit
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from brokerwise.audit.findings import Audit, Violation
from brokerwise.audit.memory import audit_directory, violations
from brokerwise.model.catalog import Catalog, fleet_of, parse_broker
from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.names import Names
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status
from brokerwise.model.profile import Profile
from brokerwise.model.workload import Workload
from brokerwise.planners.provision.budget import Answer, affordable
from brokerwise.storage import catalog as catalog_storage
from brokerwise.storage import plan as plan_storage
from brokerwise.storage import workload as workload_storage
from brokerwise.storage.place import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from brokerwise.pipeline.ingest.job import Ingested
    from brokerwise.planners.provision.options import Options

Path: TypeAlias = str | PathLike[str]
Paths: TypeAlias = Path | list[Path] | tuple[Path, ...]

# Where a plan says its workload is that is nowhere on disk.
_IN_MEMORY = "in memory"

__all__ = [
    "Answer",
    "Audit",
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


@dataclass(frozen=True, eq=False, repr=False)
class SavablePlan(Plan):
    """A plan that knows its workload, in memory or where it is on disk."""

    workload: Workload | None = None
    workload_directory: str | None = None

    def save(
        self, directory: Path, workload: Path | None = None, *, force: bool = False
    ) -> str:
        """Audit the plan and write it; returns its digest.

        `workload` is where the workload is, or will be, on disk, if the plan does
        not know. Without one the plan is still tied to the workload by its digest.
        """
        if self.status is Status.INFEASIBLE:
            raise InputError(f"there is no plan to save: {self.reason}")
        if self.workload is None:
            raise InputError("the pairs of this plan are on disk already")
        found = violations(self, self.workload)
        if found:
            raise BrokerwiseError(
                "the audit found violations in the plan; nothing was written",
                details=[violation.message for violation in found],
            )
        where = self.workload_directory if workload is None else fspath(workload)
        header = plan_storage.write_plan(
            self,
            _place(directory),
            workload=Place(where or _IN_MEMORY),
            workload_digest=workload_storage.digest_of(self.workload),
            force=force,
        )
        return header.digest


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
    from brokerwise.planners.provision.options import Options

    options = Options(selection, packing, rounds, seed, deadline(seconds))
    if isinstance(workload, Workload):
        plan = _provisioned(workload, None, fleet, threshold, options)
    else:
        pairs = workload_storage.read_header(_place(workload)).pairs
        if pairs > IN_MEMORY:
            return _provisioned_on_spark(
                workload, fleet, threshold, options, out, force
            )
        read = read_workload(workload)
        plan = _provisioned(read, fspath(workload), fleet, threshold, options)
    if out is not None and plan.status is not Status.INFEASIBLE:
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
    **settings: float | None,
) -> Fleet:
    """Broker types by name, such as "c3.large,c3.xlarge", as brokers for a workload.

    Settings are those of `fleet_of`: `peak_to_mean`, `headroom`, `gigabyte_usd` and
    `gigabyte_in_usd`.
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
        **settings,  # type: ignore[arg-type]
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


def _provisioned(
    workload: Workload,
    directory: str | None,
    fleet: Fleet,
    threshold: int,
    options: "Options",
) -> SavablePlan:
    from brokerwise.pipeline.progress import Stopwatch
    from brokerwise.planners.provision.solve import Problem, solve

    watch = Stopwatch()
    problem = Problem(workload, fleet, threshold)
    plan = solve(problem, replace(options, stage=watch.stage))
    return _savable(plan, workload, directory, seconds=watch.seconds)


def _provisioned_on_spark(
    workload: Path,
    fleet: Fleet,
    threshold: int,
    options: "Options",
    out: Path | None,
    force: bool,
) -> SavablePlan:
    from brokerwise.pipeline.provision.engines import SparkEngine
    from brokerwise.pipeline.provision.job import Target, provision_directory

    if out is None:
        raise InputError(
            f"workload {fspath(workload)} is too large to be planned in memory: "
            "say with out= where the plan goes"
        )
    engine = SparkEngine(_session(), _place(workload))
    target = Target(threshold, fleet, _place(out))
    [made] = provision_directory(engine, [target], options, force=force)
    return _savable(made.plan, None, fspath(workload))


def _savable(
    plan: Plan, workload: Workload | None, directory: str | None, **changed: Any
) -> SavablePlan:
    same = {field.name: getattr(plan, field.name) for field in fields(plan)}
    return SavablePlan(
        **(same | changed), workload=workload, workload_directory=directory
    )


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
