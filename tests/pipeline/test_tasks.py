"""Tasks that answer one thing each."""

import gc

from pyspark import SparkContext
from pyspark.sql import SparkSession

from brokerwise.pipeline.tasks import in_tasks


def test_workers_do_not_look_for_garbage_among_what_they_imported(
    spark: SparkSession,
) -> None:
    context: SparkContext = spark.sparkContext
    kept = in_tasks(context, lambda _: gc.get_freeze_count(), list(range(6)))
    assert min(kept) > 10_000
    assert gc.get_freeze_count() == 0, "not in the process that asks"
