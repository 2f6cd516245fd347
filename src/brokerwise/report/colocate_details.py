"""What is on each broker, and how near topics come to their targets: plain data."""

from typing import Any

import numpy as np

from brokerwise.model.colocation import ColocationPlan, TopicTable

MOST_BROKERS = 60
MOST_POINTS = 1_000
_MS_PER_SECOND = 1000


def colocate_details(plan: ColocationPlan, topics: TopicTable) -> dict[str, Any]:
    """What a report shows of a plan: its brokers by falling load, its replicas by
    rising share of the target; of many, some."""
    rows = plan.replicas
    load = topics.processing_ms[rows.topic] * rows.rate_per_second / _MS_PER_SECOND
    total = np.bincount(rows.broker, load, minlength=rows.brokers)
    fullest = np.argsort(-total, kind="stable")[:MOST_BROKERS].tolist()
    share = rows.predicted_p90_ms / topics.target_ms[rows.topic]
    order = np.argsort(share, kind="stable")
    at = np.linspace(0, len(order) - 1, min(MOST_POINTS, len(order))).round()
    shown = order[at.astype(np.int64)]
    return {
        "brokers": [_broker(plan, topics, broker, load) for broker in fullest],
        "loads": {
            "total": float(total.sum()),
            "most": float(total.max(initial=0)),
            "least": float(total.min()) if len(total) else 0.0,
        },
        "topics": {
            "rank": (at + 1).astype(int).tolist(),
            "name": [_name(plan, topics, int(row)) for row in shown],
            "broker": rows.broker[shown].tolist(),
            "predicted_ms": rows.predicted_p90_ms[shown].tolist(),
            "target_ms": topics.target_ms[rows.topic[shown]].tolist(),
            "share": share[shown].tolist(),
        },
    }


def _broker(
    plan: ColocationPlan, topics: TopicTable, broker: int, load: Any
) -> dict[str, Any]:
    """A broker with its topics, the heaviest first."""
    rows = plan.replicas
    members = np.flatnonzero(rows.broker == broker)
    members = members[np.argsort(-load[members], kind="stable")]
    nearest = rows.predicted_p90_ms[members] / topics.target_ms[rows.topic[members]]
    return {
        "broker": broker,
        "topics": [_name(plan, topics, int(row)) for row in members],
        "loads": load[members].tolist(),
        "load": float(load[members].sum()),
        "predicted_ms": rows.predicted_p90_ms[members].tolist(),
        "nearest": float(nearest.max()),
    }


def _name(plan: ColocationPlan, topics: TopicTable, row: int) -> str:
    """The topic, with the number of its replica if it is split."""
    topic = int(plan.replicas.topic[row])
    several = np.count_nonzero(plan.replicas.topic == topic) > 1
    number = f" ({plan.replicas.number[row]})" if several else ""
    return f"{topics.names[topic]}{number}"
