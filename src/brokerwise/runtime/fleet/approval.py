"""From a plan directory to what a fleet starts from: only what was approved runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from brokerwise.auditing.colocation import audit_colocation_directory
from brokerwise.auditing.findings import Findings
from brokerwise.auditing.memory import audit_directory
from brokerwise.auditing.overlay import audit_overlay_directory
from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.model.errors import InputError, MissingBasisError
from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.plan import WITHOUT_PLAN, Plan
from brokerwise.model.workload import Workload
from brokerwise.runtime.fleet.seeds import colocation_seed, overlay_seed, placement_seed
from brokerwise.runtime.protocol.names import is_pattern, matches
from brokerwise.runtime.protocol.seed import Seed
from brokerwise.storage.colocation_plan import read_colocation_plan
from brokerwise.storage.network import read_network
from brokerwise.storage.overlay_plan import read_overlay_header, read_overlay_plan
from brokerwise.storage.place import Place
from brokerwise.storage.plan import KINDS, plan_kind, read_plan, read_plan_header
from brokerwise.storage.workload import read_workload

T = TypeVar("T")
_SHOWN = 5  # violations


class UnsoundPlanError(InputError):
    """The audit found a plan to be other than it says; it is not run."""

    def __init__(self, plan: Place, audit: Findings) -> None:
        self.audit = audit
        count = "1 violation" if audit.total == 1 else f"{audit.total:,} violations"
        super().__init__(
            f"{plan} is not run: the audit found {count}",
            details=[f"{v.check}: {v.message}" for v in audit.violations[:_SHOWN]],
            hint=f"See all of it: brokerwise audit {plan}",
        )


@dataclass(frozen=True, eq=False)
class ApprovedPlan:
    """A plan that its audit found to be right, with what it was made for, a workload,
    (of an overlay) a network, or (of a co-location) topics, and the seed of a fleet
    that runs it."""

    plan: Plan | OverlayPlan | ColocationPlan
    basis: Workload | Network | TopicTable
    seed: Seed


def seed_of_plan(
    place: Place,
    workload: Place | None = None,
    steps: Mapping[str, str] | None = None,
) -> Seed:
    """The seed of a fleet that runs a plan of any kind.

    `workload` (of an overlay its network) is where the plan says unless given;
    `steps` are processing steps by topic or pattern (`gps/*`; a name before a pattern,
    the longer pattern before the shorter); those of a topic that was split are for all
    of its replicas. Everything is recounted first, in memory.
    Raises InputError for what cannot be read or run, DigestMismatchError for a
    workload that is not the plan's, UnsoundPlanError for a plan that was changed
    since it was approved.
    """
    seed = approved_plan(place, workload).seed
    given: dict[str, str] = {}
    asked = steps or {}
    for topic in sorted(asked, key=lambda name: (not is_pattern(name), len(name))):
        names = _meant(topic, seed)
        if not names:
            raise InputError(f"step: {place} has no topic {topic!r}")
        given |= dict.fromkeys(names, asked[topic])
    return replace(seed, steps={**seed.steps, **given})


def approved_plan(place: Place, workload: Place | None = None) -> ApprovedPlan:
    """A plan that may run, whole and in memory. Raises what `seed_of_plan` does."""
    kind = plan_kind(place)
    if kind == "overlay":
        return _approved_overlay(place, workload)
    if kind == "colocate":
        return _approved_colocation(place, workload)
    if kind in KINDS:
        return _approved_placement(place, workload)
    kinds = ", ".join((*KINDS, "overlay"))
    raise InputError(
        f"{place} is a plan of kind {kind!r}, expected {kinds} or colocate"
    )


def _approved_placement(place: Place, given: Place | None) -> ApprovedPlan:
    header = read_plan_header(place)
    _refuse_without_plan(place, header.status)
    _refuse_wrong(place, _found(lambda: audit_directory(place, given)))
    plan = read_plan(place)
    workload = read_workload(given or Place(header.workload["path"]))
    seed = _signed(placement_seed(plan, workload), place, header.digest)
    return ApprovedPlan(plan, workload, seed)


def _approved_overlay(place: Place, given: Place | None) -> ApprovedPlan:
    header = read_overlay_header(place)
    _refuse_without_plan(place, header.status)
    _refuse_wrong(place, _found(lambda: audit_overlay_directory(place, given)))
    plan = read_overlay_plan(place)
    network = read_network(given or Place(header.network["path"]))
    seed = _signed(overlay_seed(plan, network), place, header.digest)
    return ApprovedPlan(plan, network, seed)


def _approved_colocation(place: Place, given: Place | None) -> ApprovedPlan:
    stored = read_colocation_plan(place)
    _refuse_without_plan(place, stored.header.status)
    audit = _found(lambda: audit_colocation_directory(place, topics=given))
    _refuse_wrong(place, audit)
    seed = colocation_seed(stored.plan, stored.topics)
    seed = _signed(seed, place, stored.header.digest)
    return ApprovedPlan(stored.plan, stored.topics, seed)


def _meant(topic: str, seed: Seed) -> list[str]:
    """The topics of a seed that a name or a pattern stands for."""
    if topic in seed.rates:
        return [topic]
    if is_pattern(topic):
        return [name for name in seed.rates if matches(topic, name)]
    return _replicas_of(topic, seed)


def _replicas_of(topic: str, seed: Seed) -> list[str]:
    found = (name.rpartition("~") for name in seed.homes)
    return [f"{head}~{n}" for head, mark, n in found if mark and head == topic]


def _signed(seed: Seed, place: Place, digest: str) -> Seed:
    """A seed without brokers would be a fleet that nobody can connect to."""
    if not seed.brokers:
        raise InputError(f"{place} has no brokers: there is nothing to run")
    where = place.absolute().without_credentials().uri
    return replace(seed, plan=where, digest=digest)


def _refuse_without_plan(place: Place, status: str) -> None:
    if status in WITHOUT_PLAN:
        raise InputError(f"{place} is {status}: there is no plan to run")


def _refuse_wrong(place: Place, audit: Findings) -> None:
    if not audit.ok:
        raise UnsoundPlanError(place, audit)


def _found(audit: Callable[[], T]) -> T:
    """What an audit gives; its advice is for its own command, ours for ours."""
    try:
        return audit()
    except MissingBasisError as error:
        error.hint = (
            f"Put it back: {error.path}"  # no option names a model
            if error.what == "model"
            else "Name where it is with --workload DIR."
        )
        raise
