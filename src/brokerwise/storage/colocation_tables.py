"""The tables of a plan of kind colocate."""

import numpy as np
import pyarrow as pa

from brokerwise.model.colocation import ColocationPlan, Replicas, TopicTable
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.storage.tables import table_of

TOPICS = pa.schema(
    [
        ("topic", pa.int32()),
        ("name", pa.string()),
        ("processing_ms", pa.float64()),
        ("rate_per_second", pa.float64()),
        ("target_ms", pa.float64()),
    ]
)
ASSIGNMENT = pa.schema(
    [
        ("topic", pa.int32()),
        ("replica", pa.int32()),
        ("broker", pa.int32()),
        ("rate_per_second", pa.float64()),
        ("predicted_p90_ms", pa.float64()),
        ("target_ms", pa.float64()),
    ]
)
BROKERS = pa.schema(
    [("broker", pa.int32()), ("topics", pa.int32()), ("load", pa.float64())]
)
SCHEMAS = {"topics": TOPICS, "assignment": ASSIGNMENT, "brokers": BROKERS}

_MS_PER_SECOND = 1000


def colocation_tables(plan: ColocationPlan, topics: TopicTable) -> dict[str, pa.Table]:
    """All of a plan's tables; without a plan no topic has a broker."""
    replicas = plan.replicas
    if len(replicas) and int(replicas.topic.max()) >= len(topics):
        raise InputError(
            f"topic of replicas: found {int(replicas.topic.max()):,}, the plan is "
            f"for {len(topics):,} topics"
        )
    return {
        "topics": topics_table(topics),
        "assignment": table_of(
            [
                replicas.topic,
                replicas.number,
                replicas.broker,
                replicas.rate_per_second,
                replicas.predicted_p90_ms,
                topics.target_ms[replicas.topic],
            ],
            ASSIGNMENT,
        ),
        "brokers": _brokers(replicas, topics),
    }


def topics_table(topics: TopicTable) -> pa.Table:
    columns = [
        np.arange(len(topics)),
        topics.names.to_arrow().cast(pa.string()),
        topics.processing_ms,
        topics.rate_per_second,
        topics.target_ms,
    ]
    return table_of(columns, TOPICS)


def topics_of_table(table: pa.Table) -> TopicTable:
    figures = ("processing_ms", "rate_per_second", "target_ms")
    return TopicTable(
        Names.from_arrow(table["name"]), *(table[name].to_numpy() for name in figures)
    )


def replicas_of_table(table: pa.Table) -> Replicas:
    columns = ("topic", "replica", "broker", "rate_per_second", "predicted_p90_ms")
    return Replicas(*(table[name].to_numpy() for name in columns))


def _brokers(replicas: Replicas, topics: TopicTable) -> pa.Table:
    count = replicas.brokers
    spent = topics.processing_ms[replicas.topic] * replicas.rate_per_second
    load = np.bincount(replicas.broker, spent / _MS_PER_SECOND, minlength=count)
    number = np.bincount(replicas.broker, minlength=count)
    return table_of([np.arange(count), number, load], BROKERS)
