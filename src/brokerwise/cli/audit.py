"""`brokerwise audit`."""

from collections.abc import Iterator, Mapping
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.options import Conf, Json, Master, parse_conf
from brokerwise.model.errors import InputError

if TYPE_CHECKING:
    from brokerwise.auditing.findings import (
        Audit,
        ColocationAudit,
        Findings,
        OverlayAudit,
    )

    Result = Audit | OverlayAudit | ColocationAudit

EXIT_VIOLATED = 1

_LABEL_WIDTH = 13  # of the names of checks


def audit(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan directory.")],
    workload: Annotated[
        str | None, typer.Option(help="Its workload, if not where the plan says.")
    ] = None,
    network: Annotated[
        str | None, typer.Option(help="Its network, of an overlay, if elsewhere.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Its model, of a co-location, if elsewhere.")
    ] = None,
    json: Json = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Trust nothing, recompute everything: is a plan what it says it is?

    Counts every pair of the placement again and compares: capacities and loads,
    pairs wanted and served once, thresholds, the figures in plan.json, digests. Of an
    overlay: loads, links and trees, and what they cost, in this process without Spark.
    Of a co-location: what its model predicts for every set of topics on every broker.
    Exits 0 if all is right and 1 if something is not.

    Example: brokerwise audit out/plan
    """
    from brokerwise.auditing.files import open_case
    from brokerwise.storage.place import Place
    from brokerwise.storage.plan import plan_kind

    settings = parse_conf(conf)
    progress = LiveProgress()
    result: Result
    kind = plan_kind(Place(plan))
    if kind != "colocate":
        _refuse_other("--model", model, "a plan without latencies")
    if kind == "overlay":
        _refuse_other("--workload", workload, "an overlay", "--network")
        result = _audit_overlay(plan, network, progress)
        seconds = _seconds(progress)
    elif kind == "colocate":
        _refuse_other("--network", network, "a co-location", "--workload")
        result = _audit_colocation(plan, model, workload, progress)
        seconds = _seconds(progress)
    else:
        _refuse_other("--network", network, "a plan for a workload", "--workload")
        # Before Spark starts: a wrong path should not wait.
        case = open_case(Place(plan), Place(workload) if workload else None)
        with progress.session(master, settings) as spark:
            from brokerwise.auditing.spark import audit_case

            result = audit_case(spark, case, progress.stage)
            seconds = _seconds(progress)
    if json:
        print_json(_as_json(plan, result, seconds))
    else:
        print_result("\n".join(_as_text(plan, result)))
    if not result.ok:
        raise typer.Exit(EXIT_VIOLATED)


def _audit_overlay(
    plan: str, network: str | None, progress: LiveProgress
) -> "OverlayAudit":
    from brokerwise.auditing.overlay import audit_overlay_directory
    from brokerwise.storage.place import Place

    with progress.stage("check"):
        where = Place(network) if network else None
        return audit_overlay_directory(Place(plan), where)


def _audit_colocation(
    plan: str, model: str | None, topics: str | None, progress: LiveProgress
) -> "ColocationAudit":
    from brokerwise.auditing.colocation import audit_colocation_directory
    from brokerwise.storage.place import Place

    with progress.stage("check"):
        places = (Place(path) if path else None for path in (model, topics))
        return audit_colocation_directory(Place(plan), *places)


def _seconds(progress: LiveProgress) -> dict[str, float]:
    return {**progress.seconds, "total": progress.total}


def _refuse_other(
    option: str, value: str | None, what: str, right: str | None = None
) -> None:
    if value is not None:
        said = f"{option} is not for {what}"
        raise InputError(said if right is None else f"{said}: name it with {right}")


def _as_text(plan: str, result: "Result") -> Iterator[str]:
    """One sentence, then what is wrong, check by check."""
    if result.ok:
        yield f"ok: {_recomputed(result)} recomputed; digest {result.digest[:12]}"
        return
    yield f"{_counted(result.total, 'violation')} in {plan}"
    for check, messages, total in _by_check(result):
        lines = [*messages, f"and {total - len(messages):,} more"]
        if total == len(messages):
            lines.pop()
        for label, line in zip_longest([check], lines, fillvalue=""):
            yield f"  {label:<{_LABEL_WIDTH}}{line}"


def _recomputed(result: "Result") -> str:
    from brokerwise.auditing.findings import ColocationAudit, OverlayAudit

    brokers = _counted(result.brokers, "broker")
    if isinstance(result, ColocationAudit):
        topics = _counted(result.topics, "topic")
        kept = "" if result.source_checked else " (its file of topics is not there)"
        return f"{topics} on {brokers}: every prediction and target{kept}"
    if isinstance(result, OverlayAudit):
        users = _counted(result.users, "user")
        links = _counted(result.links, "link")
        return f"{users} on {brokers}, {links} of trees: every capacity, link and cost"
    pairs = _counted(result.pairs, "pair")
    every = "capacity and pair"
    if result.thresholds_checked:
        every = "capacity, pair and threshold"
    subscribers = _counted(result.subscribers, "subscriber")
    return f"{brokers}, {pairs}, {subscribers}: every {every}"


def _as_json(
    plan: str, result: "Result", seconds: Mapping[str, float]
) -> dict[str, Any]:
    return {
        "status": "ok" if result.ok else "violated",
        "plan": plan,
        "kind": result.kind,
        "brokers": result.brokers,
        "load": result.load,
        **_counts(result),
        "digest": result.digest,
        "violations": result.total,
        "checks": {
            check: {"total": total, "messages": messages}
            for check, messages, total in _by_check(result)
        },
        "seconds": dict(seconds),
    }


def _counts(result: "Result") -> dict[str, float]:
    """What was counted of the one kind or the other; costs in the network's unit."""
    from brokerwise.auditing.findings import Audit, ColocationAudit
    from brokerwise.model.network import THOUSANDTHS

    if isinstance(result, Audit):
        return {"pairs": result.pairs, "subscribers": result.subscribers}
    if isinstance(result, ColocationAudit):
        return {"topics": result.topics, "replicas": result.replicas}
    return {
        "users": result.users,
        "subchannels": result.subchannels,
        "links": result.links,
        "access": result.access / THOUSANDTHS,
        "core": result.core / THOUSANDTHS,
        "cost": (result.access + result.core) / THOUSANDTHS,
    }


def _by_check(result: "Findings") -> Iterator[tuple[str, list[str], int]]:
    """Each check that failed, with what it names and how many there are."""
    for check, violations in groupby(result.violations, lambda v: v.check):
        found = list(violations)
        yield check, [v.message for v in found], found[0].total


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
