"""Where the money of a plan goes, and how full its brokers are: plain data."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.fleet import Prices
from brokerwise.model.plan import Plan
from brokerwise.report.loads import loads_of

LISTED = 10  # topics that are named
_POINTS = 200  # of a curve


def spending(
    plan: Plan,
    rates: Int64s,
    names: Sequence[str],
    period_seconds: int,
    message_bytes: int,
) -> dict[str, Any]:
    """What brokers, traffic and topics cost in a period; O(runs + topics log topics).

    A topic costs its traffic, and of the rent of each broker that carries it the
    share it has in that broker's load: so topics add up to the whole cost.
    """
    prices = Prices.of(plan.fleet, period_seconds, message_bytes)
    runs = plan.placement
    brokers = np.bincount(runs.topic, minlength=len(rates))
    pairs = np.bincount(runs.topic, runs.pairs, len(rates)).astype(np.int64)
    usd = _topic_costs(plan, rates, prices)
    dearest = np.argsort(-usd, kind="stable")[:LISTED]

    def topic(number: int) -> dict[str, Any]:
        return {
            "name": names[number],
            "rate": int(rates[number]),
            "pairs": int(pairs[number]),
            "brokers": int(brokers[number]),
            "usd": float(usd[number]),
        }

    return {
        "rent": _rents(plan, prices),
        "incoming_usd": float(rates @ brokers * prices.incoming),
        "outgoing_usd": float(rates @ pairs * prices.outgoing),
        "carried": int(np.count_nonzero(brokers)),
        "topics": [topic(int(t)) for t in dearest if usd[t] > 0],
        "curve": _curve(usd),
        "cut": {
            "topics": int(np.count_nonzero(brokers > 1)),
            "usd": float(rates @ np.maximum(brokers - 1, 0) * prices.incoming),
            "most": [topic(t) for t in _most_cut(brokers)],
        },
        "loads": loads_of(plan),
    }


def _topic_costs(plan: Plan, rates: Int64s, prices: Prices) -> Float64s:
    runs, brokers = plan.placement, plan.brokers
    rate = rates[runs.topic]
    rent = np.array(prices.brokers)[brokers.type] / np.maximum(brokers.load, 1)
    usd = rate * (prices.incoming + prices.outgoing * runs.pairs)
    usd = usd + rent[runs.broker] * (rate * (1 + runs.pairs))
    return np.bincount(runs.topic, usd, len(rates)).astype(np.float64)


def _rents(plan: Plan, prices: Prices) -> list[dict[str, Any]]:
    number = np.bincount(plan.brokers.type, minlength=len(plan.fleet.broker_types))
    return [
        {"type": kind.name, "brokers": int(n), "usd": float(n * usd)}
        for kind, n, usd in zip(plan.fleet, number, prices.brokers, strict=True)
    ]


def _curve(usd: Float64s) -> dict[str, Any]:
    """The share of the cost that the dearest 1, 2, ... topics have."""
    summed = np.cumsum(np.sort(usd[usd > 0])[::-1])
    if not len(summed):
        return {"topics": [], "shares": []}
    ranks = np.unique(np.geomspace(1, len(summed), _POINTS).round().astype(np.int64))
    shares = summed[ranks - 1] / summed[-1]
    return {"topics": ranks.tolist(), "shares": shares.tolist()}


def _most_cut(brokers: Int64s) -> list[int]:
    order = np.argsort(-brokers, kind="stable")[:LISTED]
    return [int(t) for t in order if brokers[t] > 1]
