"""What pairs are worth, as DataFrame expressions.

A pair is worth its rate, times the weight of its topic and of its subscriber where
those have one. What is not in a table of weights weighs 1.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from brokerwise.auditing import count_frames as count
from brokerwise.auditing.frames import PlanFrames, WorkloadFrames
from brokerwise.auditing.recount import Worth

# A rate of 64 bits times a weight up to a million has 26 digits; with the weights of
# a topic's subscribers it stays within what Spark can hold, 38, for any workload: its
# rates times pairs fit in 64 bits, and weights add twelve digits.
_RATE = "decimal(19,0)"
_WEIGHT = "decimal(7,0)"


def worth_recounted(plan: PlanFrames, workload: WorkloadFrames, largest: int) -> Worth:
    """One pass over the interests and one over the placement; no pair is shuffled.

    `largest` is what one broker can carry at most.
    """
    topics = _weighed(workload.rates, plan.weights.get("topic_weights"), "topic")
    subscribers = plan.weights.get("subscriber_weights")
    wanted = _weighed(workload.interests, subscribers, "subscriber")
    served = _weighed(count.cut_to_pairs(plan.placement), subscribers, "subscriber")
    all_of_it = (
        _by_topic(wanted.select("weight", F.explode("topics").alias("topic")))
        .join(topics, "topic")
        .agg(
            F.sum(_times("pairs")).alias("rate"),
            F.sum(_times("weights") * F.col("weight")).alias("value"),
            F.count_if(F.col("rate") > largest // 2).alias("left_out"),
        )
        .collect()[0]
    )
    value = (
        _by_topic(_hosted(served, plan.brokers))
        .join(topics, "topic")
        .agg(F.sum(_times("weights") * F.col("weight")).alias("value"))
        .collect()[0]
        .value
    )
    return Worth(
        wanted=int(all_of_it.rate or 0),
        wanted_value=int(all_of_it.value or 0),
        served_value=int(value or 0),
        left_out=all_of_it.left_out,
    )


def _weighed(table: DataFrame, weights: DataFrame | None, key: str) -> DataFrame:
    """The table with a column `weight`."""
    if weights is None:
        return table.withColumn("weight", F.lit(1).cast(_WEIGHT))
    weight = F.coalesce("weight", F.lit(1)).cast(_WEIGHT)
    return table.join(weights, key, "left").withColumn("weight", weight)


def _hosted(placement: DataFrame, brokers: DataFrame) -> DataFrame:
    """The pairs on brokers that exist: cut and weighed PLACEMENT -> (topic, weight)."""
    pair = F.explode(F.arrays_zip("topics", "brokers")).alias("pair")
    pairs = placement.select("weight", pair).select(
        "weight", F.col("pair.topics").alias("topic"), F.col("pair.brokers").alias("b")
    )
    hosts = F.broadcast(brokers.distinct())
    return pairs.join(hosts, F.col("b") == hosts.broker).select("topic", "weight")


def _by_topic(pairs: DataFrame) -> DataFrame:
    """(topic, weight) -> (topic, pairs, weights), both sums."""
    return pairs.groupBy("topic").agg(
        F.count("*").alias("pairs"), F.sum("weight").alias("weights")
    )


def _times(column: str) -> Column:
    return F.col("rate").cast(_RATE) * F.col(column).cast(_RATE)
