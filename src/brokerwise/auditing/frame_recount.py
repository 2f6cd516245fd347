"""From DataFrames to a recount: the queries that an audit runs."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from brokerwise.auditing import count_frames as count
from brokerwise.auditing.claims import Claims
from brokerwise.auditing.findings import SHOWN
from brokerwise.auditing.frames import PlanFrames, WorkloadFrames
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
)

PAIRS_PER_TASK = 2_000_000


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
    found = count.runs_of(count.cut_to_pairs(plan.placement))
    runs = count.compared_runs(found, plan.assignment, workload.rates, plan.brokers)
    lines = count.broker_counts(runs).collect()
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
        runs=_tally(differing, count.differing_runs(runs), Run),
        unhosted=_tally(unhosted, count.unhosted_runs(runs), Run),
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
    wrong = count.wrong_subscribers(verdicts).persist()
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
    pairs = split(count.cut_to_pairs(plan.placement))
    wanted, threshold = split(workload.interests), F.lit(claims.common_threshold)
    if inspection.own_thresholds:
        wanted = wanted.join(split(workload.thresholds), "subscriber", "left")
        threshold = F.coalesce("threshold", threshold)
    lists = count.compared_lists(
        count.rows_by_subscriber(pairs, unique=unique), wanted, threshold.cast("long")
    )
    if not claims.promises_thresholds:
        return count.without_thresholds(lists)
    return count.with_received(lists, workload.rates, inspection.useful_topics)


@dataclass(frozen=True, eq=False)
class _Naming:
    """Counts what is wrong with subscribers, and finds the first few of each kind."""

    wrong: DataFrame
    plan: PlanFrames
    workload: WorkloadFrames

    def completed(self, recount: Recount) -> Recount:
        totals = count.totals(self.wrong).collect()[0]
        uneven = count.uneven_rows(self.plan.placement)
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
        pairs = count.cut_to_pairs(self.plan.placement)
        return count.times_served(pairs.join(self._first(condition), "subscriber"))

    def _repeated(self, total: int | None) -> Tally[Pair]:
        if not total:
            return Tally()
        times = self._times_served("repeats > 0")
        return _tally(total, times.filter("times > 1"), Pair)

    def _unwanted(self, total: int | None) -> Tally[Pair]:
        if not total:
            return Tally()
        few = self._first("unwanted > 0")
        wanted = count.wanted_pairs(self.workload.interests.join(few, "subscriber"))
        served = self._times_served("unwanted > 0")
        return _tally(
            total, served.join(wanted, ["subscriber", "topic"], "left_anti"), Pair
        )

    def _short(self, total: int | None) -> Tally[Shortfall]:
        if not total:
            return Tally()
        few = self._first("short > 0")
        interests = self.workload.interests.join(few, "subscriber")
        wanted = count.wanted_rates(interests, self.workload.rates)
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
