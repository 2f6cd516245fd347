"""What an overlay plan says about its costs and its quality, against the recount."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from brokerwise.auditing.costs import RELATIVE
from brokerwise.auditing.overlay_claims import OverlayClaims
from brokerwise.model.network import THOUSANDTHS
from brokerwise.model.plan import Status

_OTHER_PLANS = ("random", "greedy", "clustering", "steiner", "steiner_literal")
"""Figures that are the costs of other plans for the same network."""


@dataclass(frozen=True)
class Truth:
    """What was recomputed: costs in thousandths, brokers that have users."""

    access: int
    core: int
    brokers: int
    load: int
    most_load: int

    @property
    def cost(self) -> int:
        return self.access + self.core


def wrong_totals(claims: OverlayClaims, truth: Truth) -> Iterator[str]:
    for name in claims.required:
        if name not in claims.figures:
            yield f"plan.json has no figure {name!r}"
    if claims.feasible:
        for name in ("brokers", "load", "most_load"):
            stated, found = claims.figures.get(name), getattr(truth, name)
            if name in claims.figures and stated != found:
                yield f"{name}: stated {_number(stated)}, found {found:,}"


def wrong_costs(claims: OverlayClaims, truth: Truth) -> Iterator[str]:
    if not claims.feasible:
        return
    if claims.objective is not None and claims.objective != truth.cost:
        yield (
            f"objective: stated {shown(claims.objective)}, found {shown(truth.cost)}: "
            f"access {shown(truth.access)} and core {shown(truth.core)}"
        )
    for name in ("access", "core", "cost"):
        stated, found = claims.figures.get(name), getattr(truth, name)
        if name in claims.figures and stated != found:
            yield f"{name}: stated {shown(stated)}, found {shown(found)}"
    yield from _ratio(claims, truth)


def wrong_quality(claims: OverlayClaims, truth: Truth) -> Iterator[str]:
    """Statements about status, bound and gap that do not fit together, or that no
    bound could allow."""
    objective, bound = claims.objective, claims.bound
    if claims.status not in list(Status):
        yield f"status is {claims.status!r}, expected {', '.join(Status)}"
    elif objective is None or bound is None:
        if claims.feasible or (objective, bound) != (None, None):
            yield (
                f"objective {objective} and bound {bound} in a plan that is "
                f"{claims.status}"
            )
    elif not claims.feasible:
        yield f"objective {shown(objective)} in a plan that is {claims.status}"
    else:
        yield from _order(claims, objective, bound)
        yield from _gap(claims, objective, bound)
        yield from _parts(claims, truth)


def shown(cost: Any) -> str:
    """A cost of so many thousandths, exactly, as people write it."""
    if not isinstance(cost, int) or isinstance(cost, bool):
        return repr(cost)
    units, rest = divmod(abs(cost), THOUSANDTHS)
    text = f"{'-' if cost < 0 else ''}{units:,}"
    return f"{text}.{rest:03d}".rstrip("0") if rest else text


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else repr(value)


def _ratio(claims: OverlayClaims, truth: Truth) -> Iterator[str]:
    """The cost reduction ratio is the cost of a random plan over that of this one."""
    stated, random = claims.figures.get("crr"), claims.figures.get("random")
    if not truth.cost or not isinstance(random, int | float):
        return
    if "crr" not in claims.figures:
        return
    found = random / truth.cost
    said = stated if isinstance(stated, int | float) else math.nan
    if not math.isclose(said, found, rel_tol=RELATIVE):
        yield f"crr: stated {stated}, found {found:,.10g}"


def _order(claims: OverlayClaims, objective: int, bound: int) -> Iterator[str]:
    if objective < bound:
        yield f"the objective {shown(objective)} is below its bound {shown(bound)}"
    optimal = claims.status == Status.OPTIMAL
    if optimal and objective != bound:
        yield f"the plan is said to be optimal with a gap of {claims.gap}"
    elif not optimal and objective == bound:
        yield "the plan meets its bound, but is not said to be optimal"
    for name in _OTHER_PLANS:
        other = claims.figures.get(name)
        if isinstance(other, int | float) and other < bound:
            yield f"{name} costs {shown(other)}, below the bound {shown(bound)}"


def _gap(claims: OverlayClaims, objective: int, bound: int) -> Iterator[str]:
    """The gap is (objective - bound) / objective, 0 for 0/0, none for x/0."""
    gap = 0.0
    if objective != bound:
        gap = abs(objective - bound) / abs(objective) if objective else math.inf
    said = math.inf if claims.gap is None else claims.gap
    if not math.isclose(said, gap, rel_tol=RELATIVE, abs_tol=RELATIVE):
        yield (
            f"gap is {claims.gap}; objective {shown(objective)} and bound "
            f"{shown(bound)} make {gap:,.10g}"
        )


def _parts(claims: OverlayClaims, truth: Truth) -> Iterator[str]:
    """No access costs less than its part of the bound. What the core adds to that
    holds for both together: a plan may save more there, at the expense of access."""
    access, core = (claims.figures.get(f"bound_{n}") for n in ("access", "core"))
    if isinstance(access, int) and access > truth.access:
        yield f"access costs {shown(truth.access)}, below its bound {shown(access)}"
    if not (isinstance(access, int) and isinstance(core, int)):
        return
    if access + core != claims.bound:
        yield (
            f"the bound is {shown(claims.bound)}; its parts, {shown(access)} and "
            f"{shown(core)}, make {shown(access + core)}"
        )
