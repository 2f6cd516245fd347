"""How full the brokers of a plan are: plain data, and each of them in words."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from brokerwise.model.plan import Plan
from brokerwise.report.numbers import percent

_POINTS = 200  # of a curve


def loads_of(plan: Plan) -> dict[str, Any]:
    """Load as a share of capacity, the fullest broker first; of many, a sample."""
    brokers = plan.brokers
    shares = brokers.load / brokers.capacity
    order = np.argsort(-shares, kind="stable")
    most = min(_POINTS, len(order))
    at = np.linspace(0, len(order) - 1, most).round().astype(np.int64)
    chosen = order[at]
    return {
        "brokers": len(order),
        "rank": (at + 1).tolist(),
        "broker": chosen.tolist(),
        "type": [plan.fleet.broker_types[t].name for t in brokers.type[chosen]],
        "capacity": brokers.capacity[chosen].tolist(),
        "load": brokers.load[chosen].tolist(),
        "share": shares[chosen].tolist(),
        "mean": float(shares.mean()) if len(shares) else 0.0,
    }


def load_texts(loads: Mapping[str, Any]) -> list[str]:
    """What each of the brokers carries."""
    keys = ("broker", "type", "load", "capacity", "share")
    return [
        f"broker {broker} ({kind}) carries {load:,} of {capacity:,}, {percent(share)}"
        for broker, kind, load, capacity, share in zip(
            *(loads[key] for key in keys), strict=True
        )
    ]
