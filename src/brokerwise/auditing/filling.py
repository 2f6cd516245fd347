"""What a plan to fill says of its fleet and of what it delivers, beside the truth."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from brokerwise.auditing.claims import Claims
from brokerwise.auditing.recount import BrokerCount, Worth
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Bandwidth


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
