"""How full the brokers of a plan are: plain data, a plot and a table."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from brokerwise.model.plan import Plan
from brokerwise.report.html import Table
from brokerwise.report.numbers import percent
from brokerwise.report.plots import Axis, Plot, Series

_POINTS = 200  # of a curve
BARS = 60  # more than this are a curve


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


def load_plot(loads: Mapping[str, Any], remark: str = "") -> Plot:
    """Load of brokers as a share of capacity, the fullest first."""
    last = loads["brokers"]
    series = [
        Series(
            "load",
            loads["rank"],
            [100 * share for share in loads["share"]],
            _texts(loads),
            "bar" if last <= BARS else "line",
            0,
        ),
        capacity_line(0.5, last + 0.5),
    ]
    return Plot(
        "Load of the brokers",
        f"Each broker's load as a share of its capacity, the fullest first.{remark}",
        Axis("brokers", False),
        Axis("load, % of capacity", False),
        series if last else [],
        [load_table("Brokers", loads)],
    )


def capacity_line(first: float, last: float) -> Series:
    return Series(
        "capacity", [first, last], [100, 100], ["capacity"] * 2, "line", 1, True
    )


def load_table(name: str, loads: Mapping[str, Any]) -> Table:
    shown = len(loads["rank"])
    of = "" if shown == loads["brokers"] else f", {shown:,} of {loads['brokers']:,}"
    keys = ("broker", "type", "capacity", "load", "share")
    return Table(
        f"{name}: brokers, the fullest first{of}",
        ("broker", "type", "capacity", "load", "share"),
        [
            (f"{broker}", kind, f"{capacity:,}", f"{load:,}", percent(share))
            for broker, kind, capacity, load, share in zip(
                *(loads[key] for key in keys), strict=True
            )
        ],
    )


def _texts(loads: Mapping[str, Any]) -> list[str]:
    """What each of the brokers carries."""
    keys = ("broker", "type", "load", "capacity", "share")
    return [
        f"broker {broker} ({kind}) carries {load:,} of {capacity:,}, {percent(share)}"
        for broker, kind, load, capacity, share in zip(
            *(loads[key] for key in keys), strict=True
        )
    ]
