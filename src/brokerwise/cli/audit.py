"""`brokerwise audit`."""

from collections.abc import Iterator, Mapping
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.options import Conf, Json, Master, parse_conf

if TYPE_CHECKING:
    from brokerwise.audit.findings import Audit

EXIT_VIOLATED = 1

_LABEL_WIDTH = 13  # of the names of checks


def audit(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan directory.")],
    workload: Annotated[
        str | None, typer.Option(help="Its workload, if not where the plan says.")
    ] = None,
    json: Json = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Trust nothing, recompute everything: is a plan what it says it is?

    Counts every pair of the placement again and compares: capacities and loads,
    pairs wanted and served once, thresholds, the figures in plan.json, digests.
    Exits 0 if all is right and 1 if something is not.

    Example: brokerwise audit out/plan
    """
    from brokerwise.audit.case import open_case
    from brokerwise.storage.place import Place

    settings = parse_conf(conf)
    progress = LiveProgress()
    # Before Spark starts: a wrong path should not wait.
    case = open_case(Place(plan), Place(workload) if workload else None)
    with progress.session(master, settings) as spark:
        from brokerwise.audit.spark import audit_case

        result = audit_case(spark, case, progress.stage)
        seconds = {**progress.seconds, "total": progress.total}
    if json:
        print_json(_as_json(plan, result, seconds))
    else:
        print_result("\n".join(_as_text(plan, result)))
    if not result.ok:
        raise typer.Exit(EXIT_VIOLATED)


def _as_text(plan: str, result: "Audit") -> Iterator[str]:
    """One sentence, then what is wrong, check by check."""
    if result.ok:
        recomputed = "capacity and pair"
        if result.thresholds_checked:
            recomputed = "capacity, pair and threshold"
        yield (
            f"ok: {_counted(result.brokers, 'broker')}, "
            f"{_counted(result.pairs, 'pair')}, "
            f"{_counted(result.subscribers, 'subscriber')}: "
            f"every {recomputed} recomputed; digest {result.digest[:12]}"
        )
        return
    yield f"{_counted(result.total, 'violation')} in {plan}"
    for check, messages, total in _by_check(result):
        lines = [*messages, f"and {total - len(messages):,} more"]
        if total == len(messages):
            lines.pop()
        for label, line in zip_longest([check], lines, fillvalue=""):
            yield f"  {label:<{_LABEL_WIDTH}}{line}"


def _as_json(
    plan: str, result: "Audit", seconds: Mapping[str, float]
) -> dict[str, Any]:
    return {
        "status": "ok" if result.ok else "violated",
        "plan": plan,
        "kind": result.kind,
        "brokers": result.brokers,
        "load": result.load,
        "pairs": result.pairs,
        "subscribers": result.subscribers,
        "digest": result.digest,
        "violations": result.total,
        "checks": {
            check: {"total": total, "messages": messages}
            for check, messages, total in _by_check(result)
        },
        "seconds": dict(seconds),
    }


def _by_check(result: "Audit") -> Iterator[tuple[str, list[str], int]]:
    """Each check that failed, with what it names and how many there are."""
    for check, violations in groupby(result.violations, lambda v: v.check):
        found = list(violations)
        yield check, [v.message for v in found], found[0].total


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
