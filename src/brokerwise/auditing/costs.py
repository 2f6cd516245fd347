"""What a plan to provision costs, beside what it says it costs.

The cost law, stated again: each broker is paid by the hour for the whole period, and
each gigabyte (1e9 bytes) that brokers receive or send has its price.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from brokerwise.auditing.claims import Claims
from brokerwise.auditing.recount import BrokerCount
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
