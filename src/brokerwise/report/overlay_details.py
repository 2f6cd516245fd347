"""What a report shows of an overlay plan: a map, loads and links as plain data."""

from typing import Any

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.network import THOUSANDTHS, Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.report.overlay_layout import colours, layout

MOST_USERS = 3_000
"""Users that a map shows."""
MOST_LINKS = 400
"""Links that a map and a table show."""
_DIGITS = 6


def overlay_details(
    plan: OverlayPlan, network: Network, sources: Int64s, loads: Int64s
) -> dict[str, Any]:
    """Plain data of a plan.

    `sources` is what users on each broker (column) send in each sub-channel (row),
    `loads` what each user sends and receives. O(users, links of all trees, brokers^3).
    """
    places = layout(network, plan.broker)
    return {
        "how": places.how,
        "brokers": _brokers(plan, network, places.brokers),
        "users": _users(plan, network, places.users, loads),
        "links": _links(traffic(plan, sources), network),
    }


def traffic(plan: OverlayPlan, sources: Int64s) -> Int64s:
    """What crosses the link between two brokers, both ways; in [lower, higher]."""
    brokers = sources.shape[1]
    trees = plan.trees
    low = np.minimum(trees.parent, trees.child)
    high = np.maximum(trees.parent, trees.child)
    found = np.zeros((brokers, brokers), np.int64)
    np.add.at(found, (low, high), sources[trees.subchannel, trees.source])
    return found


def _brokers(plan: OverlayPlan, network: Network, places: Float64s) -> dict[str, Any]:
    users = np.bincount(plan.broker, minlength=network.brokers)
    return {
        "name": [network.broker_names[b] for b in range(network.brokers)],
        **_xy(places),
        "colour": colours(places),
        "capacity": network.capacity.tolist(),
        "load": plan.load.tolist(),
        "users": users.tolist(),
    }


def _users(
    plan: OverlayPlan, network: Network, places: Float64s, loads: Int64s
) -> dict[str, Any]:
    """At most MOST_USERS of them, at equal distances in the order of their numbers."""
    most = min(MOST_USERS, network.users)
    chosen = np.linspace(0, network.users - 1, most).round().astype(np.int64)
    broker = plan.broker[chosen]
    return {
        "total": network.users,
        "name": [network.user_names[int(u)] for u in chosen],
        **_xy(places[chosen]),
        "broker": broker.tolist(),
        "load": loads[chosen].tolist(),
        "link": (network.access[chosen, broker] / THOUSANDTHS).tolist(),
    }


def _links(carried: Int64s, network: Network) -> dict[str, Any]:
    """Links that carry something, the busiest first."""
    low, high = np.nonzero(carried)
    found = carried[low, high]
    order = np.argsort(-found, kind="stable")[:MOST_LINKS]
    low, high = low[order], high[order]
    return {
        "total": len(found),
        "traffic_total": int(found.sum()),
        "a": low.tolist(),
        "b": high.tolist(),
        "traffic": found[order].tolist(),
        "cost": (network.core[low, high] / THOUSANDTHS).tolist(),
    }


def _xy(places: Float64s) -> dict[str, list[float]]:
    return {
        axis: [float(f"{value:.{_DIGITS}g}") for value in places[:, number]]
        for number, axis in enumerate("xy")
    }
