"""What a plan says about its own quality: status, bounds and gaps."""

import math
from collections.abc import Iterator

from brokerwise.auditing.claims import Claims
from brokerwise.auditing.costs import RELATIVE
from brokerwise.auditing.filling import in_full
from brokerwise.model.plan import Status


def wrong_bounds(claims: Claims, load: int) -> Iterator[str]:
    """What does not fit together, or with the load that was counted."""
    yield from _status(claims)
    yield from _bound(claims)
    if claims.feasible:
        if claims.kind == "provision":
            yield from _load_bounds(claims, load)
        yield from _paper(claims)


def _status(claims: Claims) -> Iterator[str]:
    """A plan is optimal only if nothing is left between it and its bound."""
    if claims.status not in list(Status):
        yield f"status is {claims.status!r}, expected {', '.join(Status)}"
    elif claims.status == Status.OPTIMAL and _apart(claims):
        yield f"the plan is said to be optimal with a gap of {claims.gap}"
    elif claims.kind == "fill" and not claims.feasible:
        said = f"a plan to fill is said to be {claims.status}"
        yield f"{said}: to deliver nothing is a plan"


def _apart(claims: Claims) -> bool:
    """Whether there is a gap; what fills is whole numbers, so none is too small."""
    if claims.kind == "fill":
        return claims.objective != claims.bound
    return (claims.gap or 0) > RELATIVE


def _bound(claims: Claims) -> Iterator[str]:
    """Objective and bound are numbers where there is a plan, and only there."""
    stated = [claims.objective, claims.bound]
    finite = [v for v in stated if v is not None and math.isfinite(v)]
    if len(finite) != 2 * claims.feasible:
        state = "feasible" if claims.feasible else claims.status
        yield f"objective {stated[0]} and bound {stated[1]} in a plan that is {state}"
    elif claims.feasible:
        objective, bound = finite
        yield from _order(claims.kind, objective, "bound", bound)
        yield from _gap("gap", claims.gap, objective, "bound", bound)


def _load_bounds(claims: Claims, load: int) -> Iterator[str]:
    """No plan has less load than is proven to be needed."""
    for name in ("load_bound", "load_bound_paper"):
        bound = claims.figures.get(name, 0)
        if not bound <= load:
            yield f"the load {load:,} is below its {name} {bound:,}"


def _paper(claims: Claims) -> Iterator[str]:
    """The bound of Setty et al. (ICDCS 2014) or, for plans to fill, of Lambert and
    Sakellariou (IEEE CLOUD 2018), stated for comparison."""
    name, objective = "bound_paper", claims.objective
    if objective is None or name not in claims.figures:
        return
    bound = claims.figures[name]
    yield from _order(claims.kind, objective, name, bound)
    if "gap_paper" in claims.figures:
        stated = claims.figures["gap_paper"]
        yield from _gap("gap_paper", stated, objective, name, bound)


def _gap(
    name: str, stated: float | None, objective: float, bound_name: str, bound: float
) -> Iterator[str]:
    """The gap is |objective - bound| / |objective|, 0 for 0/0, none for x/0."""
    gap = 0.0
    if objective != bound:
        gap = abs(objective - bound) / abs(objective) if objective else math.inf
    said = math.inf if stated is None else stated
    if not math.isclose(said, gap, rel_tol=RELATIVE, abs_tol=RELATIVE):
        yield (
            f"{name} is {stated}; objective {objective:,.10g} and "
            f"{bound_name} {bound:,.10g} make {gap:,.10g}"
        )


def _order(kind: str, objective: float, name: str, bound: float) -> Iterator[str]:
    """No plan to provision costs less than its bound, none to fill gives more."""
    if kind == "fill":
        # Whole numbers, to the nearest in floating point: there is nothing to round.
        if not objective <= float(bound):
            stated, limit = in_full(objective), in_full(float(bound))
            yield f"the objective {stated} is above its {name} {limit}"
    elif not bound - objective <= RELATIVE * max(abs(objective), abs(bound)):
        yield f"the objective {objective:,.10g} is below its {name} {bound:,.10g}"
