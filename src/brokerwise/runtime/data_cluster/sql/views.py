"""Empty views of what a channel reads: enough to analyze its query, nothing to run."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from brokerwise.runtime.data_cluster.definitions import Channel, Dataset
from brokerwise.runtime.data_cluster.sql.splicing import (
    SUBSCRIPTION,
    SUBSCRIPTIONS,
    column_of,
)
from brokerwise.runtime.data_cluster.types import spark_schema, spark_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def subscriptions_schema(channel: Channel) -> str:
    """Of `_subscriptions`, for this channel, as Spark's SQL spells it."""
    columns = [f"`{SUBSCRIPTION}` BIGINT"]
    columns += [
        f"`{column_of(p.name)}` {spark_type(p.type)}" for p in channel.parameters
    ]
    return ", ".join(columns)


def make_views(
    session: "SparkSession", datasets: Iterable[Dataset], channel: Channel
) -> None:
    for dataset in datasets:
        empty = session.createDataFrame([], spark_schema(dataset))
        empty.createOrReplaceTempView(dataset.name)
    empty = session.createDataFrame([], subscriptions_schema(channel))
    empty.createOrReplaceTempView(SUBSCRIPTIONS)
