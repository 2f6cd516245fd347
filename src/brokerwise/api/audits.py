"""Plans of any kind, audited."""

from brokerwise.api.callers import Path, place_of
from brokerwise.auditing.findings import Violation
from brokerwise.auditing.memory import audit_directory, violations
from brokerwise.model.colocation import ColocationPlan
from brokerwise.model.errors import InputError
from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.plan import Plan
from brokerwise.model.workload import Workload
from brokerwise.pipeline.plans import SavablePlan
from brokerwise.storage.plan import plan_kind


def audit(
    plan: Plan | OverlayPlan | ColocationPlan | Path,
    workload: Workload | Path | None = None,
    *,
    network: Network | Path | None = None,
    model: Path | None = None,
) -> list[Violation]:
    """What is wrong with a plan, recomputed from scratch in this process.

    A plan in memory needs its workload (an overlay its network), unless it knows it;
    a plan directory says where its own is. A co-location plan is audited with its
    model, which is where the plan says unless given.
    """
    if isinstance(plan, ColocationPlan):
        return _colocation_violations(plan)
    if not isinstance(plan, Plan | OverlayPlan):
        kind = plan_kind(place_of(plan))
        if kind == "colocate":
            return _colocation_directory(plan, workload, model)
    if model is not None:
        raise InputError("only a co-location plan is audited with a model")
    overlay = isinstance(plan, OverlayPlan) or (
        not isinstance(plan, Plan) and plan_kind(place_of(plan)) == "overlay"
    )
    given, other = (network, workload) if overlay else (workload, network)
    if other is not None:
        raise InputError(
            "an overlay is audited against a network, other plans against a workload"
        )
    if isinstance(plan, OverlayPlan):
        return _overlay_violations(plan, network)
    if isinstance(plan, Plan):
        return _violations(plan, workload)
    if isinstance(given, Workload | Network):
        what = "network" if overlay else "workload"
        raise InputError(f"a plan directory is audited against a {what} directory")
    place, where = place_of(plan), None if given is None else place_of(given)
    if overlay:
        from brokerwise.auditing.overlay import audit_overlay_directory

        return list(audit_overlay_directory(place, where).violations)
    return list(audit_directory(place, where).violations)


def _colocation_violations(plan: ColocationPlan) -> list[Violation]:
    from brokerwise.pipeline.colocate import SavableColocationPlan

    if not isinstance(plan, SavableColocationPlan):
        raise InputError("a co-location plan from a directory is audited there")
    return plan.violations()


def _colocation_directory(
    plan: Path, topics: Workload | Path | None, model: Path | None
) -> list[Violation]:
    from brokerwise.auditing.colocation import audit_colocation_directory

    if isinstance(topics, Workload):
        raise InputError("a plan directory is audited against a workload directory")
    places = (None if path is None else place_of(path) for path in (model, topics))
    return list(audit_colocation_directory(place_of(plan), *places).violations)


def _violations(plan: Plan, workload: Workload | Path | None) -> list[Violation]:
    if workload is None and isinstance(plan, SavablePlan):
        workload = plan.workload
    if not isinstance(workload, Workload):
        raise InputError("a plan in memory is audited against a Workload in memory")
    return violations(plan, workload)


def _overlay_violations(
    plan: OverlayPlan, network: Network | Path | None
) -> list[Violation]:
    from brokerwise.auditing.overlay import overlay_violations
    from brokerwise.pipeline.overlay import SavableOverlayPlan

    if network is None and isinstance(plan, SavableOverlayPlan):
        network = plan.network
    if not isinstance(network, Network):
        raise InputError("an overlay in memory is audited against a Network in memory")
    return overlay_violations(plan, network)
