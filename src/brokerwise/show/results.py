"""What results of all kinds have in common, as data and in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, TypeAlias

from brokerwise.model.colocation import ColocationPlan
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.plan import WITHOUT_PLAN, Plan
from brokerwise.show.numbers import percent_up
from brokerwise.show.tables import Fact

Result = Mapping[str, Any]
"""What a command prints with `--json`, or a part of it."""

AnyPlan: TypeAlias = Plan | OverlayPlan | ColocationPlan

STOPPED = "the search was stopped by --seconds: another run may end elsewhere"


def quality(plan: AnyPlan) -> dict[str, Any]:
    """How good a plan is: the first fields of a result."""
    return {
        "kind": plan.kind,
        "status": plan.status.value,
        "objective": plan.objective,
        "bound": plan.bound,
        "gap": finite(plan.gap),
        "algorithm": plan.algorithm,
    }


def origin(plan: AnyPlan, out: object, digest: str | None) -> dict[str, Any]:
    """How a plan was made, and where it is if it was written, which its digest says:
    the last fields of a result."""
    return {
        "options": dict(plan.options),
        "seed": plan.seed,
        "seconds": dict(plan.seconds),
        "out": None if digest is None else str(out),
        "digest": digest,
    }


def finite(figure: Any) -> Any:
    """JSON has no infinity: a gap or a ratio to nothing is null."""
    return None if isinstance(figure, float) and not isfinite(figure) else figure


def is_plan(result: Result) -> bool:
    return result["status"] not in WITHOUT_PLAN


_LEAST_SHOWN = 1e-5  # what is less is not worth its digits


def no_cheaper(what: str, result: Result) -> str:
    """The gap in words: what the objective could be lower by, as a share of it."""
    least = max(result["gap"], _LEAST_SHOWN)
    return f"no {what} is more than {percent_up(least)} cheaper"


def gap_text(gap: float | None) -> str:
    """A gap in percent, rounded up as in `no_cheaper`; below a thousandth of one it is
    not worth its digits."""
    if gap is None:
        return "unknown"
    return "< 0.001 %" if 0 < gap < _LEAST_SHOWN else percent_up(gap)


def with_gap(bound: str, gap: float | None) -> str:
    return f"{bound} (gap {gap_text(gap)})"


def bound_fact(label: str, bound: str, gap: float | None) -> Fact:
    return Fact(label, bound, f"gap {gap_text(gap)}")


def others_would(verb: str, others: Sequence[str]) -> str:
    """`greedy would cost 12, steiner 14`, of `greedy 12` and `steiner 14`; empty if
    there are none."""
    if not others:
        return ""
    first, *rest = others
    return ", ".join([first.replace(" ", f" would {verb} ", 1), *rest])


def screen(answer: str, lines: Iterable[str], *written: tuple[str, object]) -> str:
    """What a command says: one sentence, the numbers that carry it, and what it wrote
    where, if it did."""
    places = [f"{what}: {place}" for what, place in written if place is not None]
    return "\n".join([answer, *(f"  {line}" for line in lines), *places])


def how_to_repeat(result: Result) -> Iterator[Fact]:
    """How a result was made, at the end of its report: the command, the version that
    ran it, and how long it took."""
    yield Fact("Command", result["command"])
    yield Fact("Brokerwise", result["version"])
    if "seconds" in result:
        stages = [f"{name} {value:.1f} s" for name, value in result["seconds"].items()]
        yield Fact("Time", ", ".join(stages))
