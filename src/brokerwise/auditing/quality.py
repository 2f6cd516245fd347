"""What a plan says of its costs, its fleet, what it delivers and how good it is, beside
the truth.

The cost law, stated again: each broker is paid by the hour for the whole period, and
each gigabyte (1e9 bytes) that brokers receive or send has its price.
"""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from brokerwise.auditing.claims import Claims
from brokerwise.auditing.recount import BrokerCount, Worth
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Bandwidth
from brokerwise.model.plan import Status
from brokerwise.model.workload import Workload
from brokerwise.storage.workload import WorkloadHeader

RELATIVE = 1e-9
"""How far sums of prices, in floating point, may be off, as a share of themselves."""
_SECONDS_PER_HOUR = 3600
_HOURS_PER_MONTH = 730
_BYTES_PER_GIGABYTE = 10**9


class Period(NamedTuple):
    """What a workload says of time and size; a plan is paid for one such period."""

    seconds: int
    message_bytes: int

    @classmethod
    def of(cls, workload: Workload | WorkloadHeader) -> "Period":
        return cls(workload.period_seconds, workload.message_bytes)


def costs(claims: Claims, total: BrokerCount, period: Period) -> dict[str, float]:
    """The dollars that the brokers listed and the load counted come to.

    A broker of a type that the fleet does not have is not paid.
    """
    hours = period.seconds / _SECONDS_PER_HOUR
    hour_usd = {kind.name: kind.hour_usd for kind in claims.fleet}
    sent, received = claims.fleet.gigabyte_usd, claims.fleet.gigabyte_in_usd
    if received is None:
        received = sent
    brokers = hours * math.fsum(hour_usd.get(b.type, 0.0) for b in claims.brokers)
    bandwidth = math.fsum(
        messages * period.message_bytes / _BYTES_PER_GIGABYTE * usd
        for messages, usd in ((total.incoming, received), (total.outgoing, sent))
    )
    return {
        "cost": brokers + bandwidth,
        "cost_brokers": brokers,
        "cost_bandwidth": bandwidth,
        "cost_month": (brokers + bandwidth) / hours * _HOURS_PER_MONTH,
    }


def wrong_costs(claims: Claims, total: BrokerCount, period: Period) -> Iterator[str]:
    """Costs that are not what they should be, and an objective that is not the cost.

    Only plans to provision have costs. One in memory may leave them out.
    """
    if claims.kind != "provision" or not claims.feasible:
        return
    truth = costs(claims, total, period)
    for name, usd in truth.items():
        stated = claims.figures.get(name, usd)
        if not close(stated, usd):
            yield f"{name}: stated {dollars(stated)}, found {dollars(usd)}"
    objective, cost = claims.objective, truth["cost"]
    judged = "cost" in claims.figures or "cost" in claims.required
    if judged and objective is not None and not close(objective, cost):
        yield f"the objective is {dollars(objective)}, the cost is {dollars(cost)}"


def close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=1e-12)


def dollars(usd: float) -> str:
    return f"${usd:,.10g}"


def booked_bandwidth(claims: Claims) -> Bandwidth | None:
    """The bandwidth that the plan was to split; None if it was given a fleet.

    Raises InputError if what the options say of it makes no sense.
    """
    stated: Any = [claims.options.get(n) for n in ("total_bandwidth", "max_broker")]
    return None if stated == [None, None] else Bandwidth(*stated)


def largest_broker(claims: Claims) -> int:
    """What one broker could have carried at most."""
    with suppress(InputError):
        booked = booked_bandwidth(claims)
        if booked is not None:
            return min(booked.total, booked.max_broker)
    return max(kind.capacity for kind in claims.fleet)


def wrong_split(claims: Claims) -> Iterator[str]:
    """Brokers that are not a way to split the bandwidth that was booked."""
    if claims.kind != "fill":
        return
    try:
        booked = booked_bandwidth(claims)
    except InputError as wrong:
        yield wrong.message
        return
    if booked is None:
        return
    for kind in claims.fleet:
        if kind.capacity > booked.max_broker:
            yield (
                f"broker type {json.dumps(kind.name)} has capacity {kind.capacity:,}, "
                f"max_broker is {booked.max_broker:,}"
            )
    total = fleet_capacity(claims)
    if total is None or total > booked.total:
        stated = "no limit" if total is None else f"{total:,}"
        yield f"the fleet has {stated} in all, total_bandwidth is {booked.total:,}"


def fleet_capacity(claims: Claims) -> int | None:
    """What all brokers of the fleet can carry; None if there is no limit."""
    total = 0
    for kind in claims.fleet:
        if kind.count is None:
            return None
        total += kind.capacity * kind.count
    return total


def delivered_figures(total: BrokerCount, worth: Worth) -> dict[str, int | float]:
    """The figures of a plan to fill that follow from the count."""
    percent = 100 * total.outgoing / worth.wanted if worth.wanted else 100.0
    return {
        "delivered_percent": percent,
        "wanted": worth.wanted,
        "weighted_wanted": worth.wanted_value,
        "left_out": worth.left_out,
    }


def wrong_objective(claims: Claims, worth: Worth | None) -> Iterator[str]:
    """The objective of a plan to fill is what the pairs that it serves are worth.

    A whole number, to which the nearest number in floating point is stated.
    """
    stated = claims.objective
    if worth is None or stated is None or stated == float(worth.served_value):
        return
    yield (
        f"the objective is {in_full(stated)}, the pairs served are worth "
        f"{worth.served_value:,}"
    )


def wrong_value_bounds(claims: Claims, worth: Worth | None) -> Iterator[str]:
    """A bound beyond all there is to get, and a bound of the paper that is not its.

    Without weights, Lambert and Sakellariou (IEEE CLOUD 2018) bound what is delivered
    by all that is wanted and by all bandwidth there is.
    """
    if worth is None:
        return
    bound = claims.bound
    if bound is not None and bound > float(worth.wanted_value):
        yield (
            f"the bound is {in_full(bound)}, all that is wanted is worth "
            f"{worth.wanted_value:,}"
        )
    stated = claims.figures.get("bound_paper")
    paper = _bound_paper(claims, worth)
    if stated is not None and not claims.weighted and stated != paper:
        yield f"bound_paper: stated {stated:,}, found {paper:,}"


def _bound_paper(claims: Claims, worth: Worth) -> int:
    limits = [worth.wanted]
    capacity = fleet_capacity(claims)
    if capacity is not None:
        limits.append(capacity)
    with suppress(InputError):
        booked = booked_bandwidth(claims)
        if booked is not None:
            limits[1:] = [booked.total]
    return min(limits)


def in_full(value: float) -> str:
    """A number with all its digits, and no fraction if it has none."""
    return f"{int(value):,}" if value.is_integer() else f"{value:,}"


def wrong_bounds(claims: Claims, load: int) -> Iterator[str]:
    """What does not fit together, or with the load that was counted."""
    yield from _status(claims)
    yield from _bound(claims)
    if claims.feasible:
        if claims.kind == "provision":
            yield from _load_bounds(claims, load)
        yield from _paper(claims)


def wrong_order(
    status: str,
    gap: float | None,
    objective: int,
    bound: int,
    shown: Callable[[int], str],
) -> Iterator[str]:
    """What does not fit in whole numbers to keep low: the objective is not below its
    bound, and meets it if and only if the plan is optimal."""
    if objective < bound:
        yield f"the objective {shown(objective)} is below its bound {shown(bound)}"
    optimal = status == Status.OPTIMAL
    if optimal and objective != bound:
        yield f"the plan is said to be optimal with a gap of {gap}"
    elif not optimal and objective == bound:
        yield "the plan meets its bound, but is not said to be optimal"


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
