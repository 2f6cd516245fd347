"""The audit of a plan directory of any size, on Spark, in two steps.

The quick check (`quick`) reads every file once and checks every pair with compiled
loops. A plan that is right is through with it. If pairs, runs or files deviate, the
full audit (`explained`), made of DataFrame expressions, finds out how, counts and
names. It shares nothing with the quick check. Files are digested in tasks, a part at a
time; only one line per broker and the first few violations reach the driver.

A pair is worth its rate, times the weight of its topic and of its subscriber where
those have one. What is not in a table of weights weighs 1.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from pyspark import SparkContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from brokerwise.auditing import frames
from brokerwise.auditing.claims import Claims
from brokerwise.auditing.files import (
    Case,
    block_digests,
    check_workload,
    digest_violations,
    disordered,
    inspect_placement,
    inspect_workload,
    open_case,
)
from brokerwise.auditing.findings import SHOWN, Audit
from brokerwise.auditing.frames import PlanFrames, WorkloadFrames
from brokerwise.auditing.judgement import Naming, judged, summed_up
from brokerwise.auditing.quality import Period, largest_broker
from brokerwise.auditing.quick import quick_audit
from brokerwise.auditing.recount import (
    BrokerCount,
    Example,
    Lists,
    Pair,
    Recount,
    Row,
    Run,
    Shortfall,
    Step,
    Tally,
    Worth,
)
from brokerwise.auditing.shares import (
    Deviation,
    Reference,
    Share,
    ShareCount,
    merged,
    share_counted,
)
from brokerwise.model.errors import InputError
from brokerwise.storage.place import Place

# A rate of 64 bits times a weight up to a million has 26 digits; with the weights of
# a topic's subscribers it stays within what Spark can hold, 38, for any workload: its
# rates times pairs fit in 64 bits, and weights add twelve digits.
_RATE = "decimal(19,0)"
_WEIGHT = "decimal(7,0)"
PAIRS_PER_TASK = 2_000_000
Stage = Callable[[str], AbstractContextManager[Any]]
Part = TypeVar("Part")
# Results of so many tasks may reach the driver at once; more meet on the way.
_AT_ONCE = 8


def worth_recounted(plan: PlanFrames, workload: WorkloadFrames, largest: int) -> Worth:
    """One pass over the interests and one over the placement; no pair is shuffled.

    `largest` is what one broker can carry at most.
    """
    topics = _weighed(workload.rates, plan.weights.get("topic_weights"), "topic")
    subscribers = plan.weights.get("subscriber_weights")
    wanted = _weighed(workload.interests, subscribers, "subscriber")
    served = _weighed(frames.cut_to_pairs(plan.placement), subscribers, "subscriber")
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


@dataclass(frozen=True)
class Inspection:
    """What the pass over the files has told."""

    subscribers: int
    pairs: int
    useful_topics: int
    own_thresholds: bool
    disordered: Tally[Step]

    @property
    def partitions(self) -> int:
        return 1 + self.pairs // PAIRS_PER_TASK


def brokers_recounted(
    plan: PlanFrames, workload: WorkloadFrames, inspection: Inspection
) -> Recount:
    """What the brokers carry: one pass over the placement, one more if it is wrong."""
    found = frames.runs_of(frames.cut_to_pairs(plan.placement))
    runs = frames.compared_runs(found, plan.assignment, workload.rates, plan.brokers)
    lines = frames.broker_counts(runs).collect()
    carried = {
        line.broker: BrokerCount(
            line.topics, line.pairs, int(line.incoming), int(line.outgoing)
        )
        for line in lines
        if line.broker is not None and line.topics
    }
    differing = sum(line.differing for line in lines)
    unhosted = sum(line.pairs for line in lines if line.broker is None)
    return Recount(
        subscribers=inspection.subscribers,
        brokers=carried,
        runs=_tally(differing, frames.differing_runs(runs), Run),
        unhosted=_tally(unhosted, frames.unhosted_runs(runs), Run),
        disordered=inspection.disordered,
    )


def subscribers_recounted(
    recount: Recount,
    claims: Claims,
    plan: PlanFrames,
    workload: WorkloadFrames,
    inspection: Inspection,
) -> Recount:
    """Also what the subscribers get: one pass over placement and interests."""
    verdicts = _verdicts(claims, plan, workload, inspection)
    # Kept: the pass that counts them also holds them ready to be named. A plan that
    # is right has none.
    wrong = frames.wrong_subscribers(verdicts).persist()
    try:
        return _Naming(wrong, plan, workload).completed(recount)
    finally:
        wrong.unpersist()


def _verdicts(
    claims: Claims,
    plan: PlanFrames,
    workload: WorkloadFrames,
    inspection: Inspection,
) -> DataFrame:
    def split(table: DataFrame) -> DataFrame:
        return table.repartition(inspection.partitions, "subscriber")

    unique = not inspection.disordered.total
    pairs = split(frames.cut_to_pairs(plan.placement))
    wanted, threshold = split(workload.interests), F.lit(claims.common_threshold)
    if inspection.own_thresholds:
        wanted = wanted.join(split(workload.thresholds), "subscriber", "left")
        threshold = F.coalesce("threshold", threshold)
    lists = frames.compared_lists(
        frames.rows_by_subscriber(pairs, unique=unique), wanted, threshold.cast("long")
    )
    if not claims.promises_thresholds:
        return frames.without_thresholds(lists)
    return frames.with_received(lists, workload.rates, inspection.useful_topics)


@dataclass(frozen=True, eq=False)
class _Naming:
    """Counts what is wrong with subscribers, and finds the first few of each kind."""

    wrong: DataFrame
    plan: PlanFrames
    workload: WorkloadFrames

    def completed(self, recount: Recount) -> Recount:
        totals = frames.totals(self.wrong).collect()[0]
        uneven = frames.uneven_rows(self.plan.placement)
        return replace(
            recount,
            missing=_tally(totals.missing, self._rows("rows = 0"), Row),
            strangers=_tally(totals.strangers, self._rows("strange > 0"), Row),
            doubled=_tally(totals.doubled, self._rows("rows > 1"), Row),
            misaligned=_tally(totals.misaligned, uneven, Lists),
            repeated=self._repeated(totals.repeated),
            unwanted=self._unwanted(totals.unwanted),
            short=self._short(totals.short),
        )

    def _rows(self, condition: str) -> DataFrame:
        return self.wrong.filter(condition).select("subscriber", "rows")

    def _first(self, condition: str) -> DataFrame:
        """The first few subscribers of whom a condition holds."""
        few = self.wrong.filter(condition).select("subscriber")
        return F.broadcast(few.orderBy("subscriber").limit(SHOWN))

    def _times_served(self, condition: str) -> DataFrame:
        pairs = frames.cut_to_pairs(self.plan.placement)
        return frames.times_served(pairs.join(self._first(condition), "subscriber"))

    def _repeated(self, total: int | None) -> Tally[Pair]:
        if not total:
            return Tally()
        times = self._times_served("repeats > 0")
        return _tally(total, times.filter("times > 1"), Pair)

    def _unwanted(self, total: int | None) -> Tally[Pair]:
        if not total:
            return Tally()
        few = self._first("unwanted > 0")
        wanted = frames.wanted_pairs(self.workload.interests.join(few, "subscriber"))
        served = self._times_served("unwanted > 0")
        return _tally(
            total, served.join(wanted, ["subscriber", "topic"], "left_anti"), Pair
        )

    def _short(self, total: int | None) -> Tally[Shortfall]:
        if not total:
            return Tally()
        few = self._first("short > 0")
        interests = self.workload.interests.join(few, "subscriber")
        wanted = frames.wanted_rates(interests, self.workload.rates)
        threshold = F.least("threshold", "wanted").alias("threshold")
        short = self.wrong.join(F.broadcast(wanted), "subscriber").select(
            "subscriber", "received", threshold
        )
        return _tally(total, short, Shortfall)


def _tally(
    total: int | None, lines: DataFrame, example: Callable[..., Example]
) -> Tally[Example]:
    """The first few lines, if there are any: none are looked for otherwise."""
    if not total:
        return Tally()
    first = lines.orderBy(*lines.columns).limit(SHOWN).collect()
    return Tally(total, tuple(example(*map(int, line)) for line in first))


def explained(spark: SparkSession, case: Case, stage: Stage = nullcontext) -> Audit:
    """Audit a plan and name what is wrong; `stage` is entered with what begins.

    Raises InputError for files that cannot be used, DigestMismatchError for a
    workload that has changed. Reads the placement three times and the interests
    twice, both once more for a plan to fill, and what is wrong once more to name it.
    """
    files, header = case.plan, case.header
    with stage("digests"):
        names = header.files["interests"]
        sources = _in_tasks(spark, partial(inspect_workload, case.workload), names)
        useful_topics = check_workload(case.workload, header, sources)
        parts = _in_tasks(spark, partial(inspect_placement, files.place), files.parts)
    inspection = Inspection(
        subscribers=sum(part.rows for part in sources),
        pairs=header.pairs,
        useful_topics=useful_topics,
        own_thresholds=any(part.thresholds for part in sources),
        disordered=disordered(parts),
    )
    plan = PlanFrames(spark, files)
    workload = WorkloadFrames(spark, case.workload, header)
    with stage("brokers"):
        recount = brokers_recounted(plan, workload, inspection)
    with stage("pairs"):
        recount = subscribers_recounted(
            recount, files.claims, plan, workload, inspection
        )
    if files.claims.kind == "fill":
        with stage("worth"):
            worth = worth_recounted(plan, workload, largest_broker(files.claims))
            recount = replace(recount, worth=worth)
    own, naming = inspection.own_thresholds, _naming(workload, recount)
    found = digest_violations(files, block_digests(parts))
    period = Period.of(header)
    found += judged(files.claims, recount, naming, period, own_thresholds=own)
    return summed_up(files.claims, recount, files.header.digest, found)


def _in_tasks(
    spark: SparkSession, inspect: Callable[[str], Part], names: Sequence[str]
) -> list[Part]:
    """Inspect each file in a task of its own; refuse the first that is refused."""
    if not names:
        return []
    tasks = spark.sparkContext.parallelize(names, len(names))
    inspected: list[Part] = []
    for result in tasks.map(partial(_attempted, inspect)).collect():
        if isinstance(result, InputError):
            raise result
        inspected.append(result)
    return inspected


def _attempted(inspect: Callable[[str], Part], name: str) -> Part | InputError:
    """An error to act on is a result: a task that raised it would run again."""
    try:
        return inspect(name)
    except InputError as refused:
        return refused


def _naming(workload: WorkloadFrames, recount: Recount) -> Naming:
    topics = _names(workload.topic_names, "topic", recount.named_topics())
    subscribers = _names(
        workload.subscriber_names, "subscriber", recount.named_subscribers()
    )
    return Naming(topics.get, subscribers.get)


def _names(table: DataFrame, key: str, ids: set[int]) -> dict[int, str]:
    """The names that messages need; a plan that is right needs none."""
    if not ids:
        return {}
    return {row[key]: row.name for row in table.filter(F.col(key).isin(ids)).collect()}


def audit_directory(
    spark: SparkSession, plan: Place, workload: Place | None = None
) -> Audit:
    """Audit a plan directory against its workload.

    `workload` is where the plan says unless given. Raises InputError for a directory
    or a file that cannot be used, DigestMismatchError for a workload that is not the
    plan's or has changed.
    """
    return audit_case(spark, open_case(plan, workload))


def audit_case(spark: SparkSession, case: Case, stage: Stage = nullcontext) -> Audit:
    """Audit a plan; `stage` is entered with the name of what begins.

    One pass over all files if the plan is right. The full audit, if it is needed,
    reads the placement three times and the interests twice, and what is wrong once
    more to name it.
    """
    with stage("check"):
        cores = spark.sparkContext.defaultParallelism
        audit = quick_audit(
            case, cores=cores, count=partial(_counted, spark.sparkContext)
        )
    # What is wrong with statements only, and with no pair, is named already.
    if audit is not None:
        return audit
    return explained(spark, case, stage)


def _counted(
    context: SparkContext, case: Case, shares: Sequence[Share], reference: Reference
) -> ShareCount | Deviation:
    """Check each share in a task of its own."""
    check = partial(share_counted, case.workload, case.plan.place)
    shared = context.broadcast(reference)
    try:
        tasks = context.parallelize(shares, len(shares))
        return tasks.map(lambda share: check(share, shared.value)).treeReduce(
            merged, depth=1 if len(shares) <= _AT_ONCE else 2
        )
    finally:
        with suppress(Exception):  # a context that is gone has freed it
            shared.destroy()
