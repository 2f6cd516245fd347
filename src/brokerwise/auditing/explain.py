"""What is wrong with a plan, counted and named: the full audit on Spark.

Files are digested in tasks, a part at a time; the recount is DataFrame expressions,
which share nothing with the quick check. Only one line per broker and the first few
violations reach the driver.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from brokerwise.auditing.case import Case
from brokerwise.auditing.costs import Period
from brokerwise.auditing.filling import largest_broker
from brokerwise.auditing.findings import Audit
from brokerwise.auditing.frame_recount import (
    Inspection,
    brokers_recounted,
    subscribers_recounted,
)
from brokerwise.auditing.frame_worth import worth_recounted
from brokerwise.auditing.frames import PlanFrames, WorkloadFrames
from brokerwise.auditing.judgement import Naming, judged, summed_up
from brokerwise.auditing.plan_files import (
    block_digests,
    digest_violations,
    disordered,
    inspect_placement,
)
from brokerwise.auditing.recount import Recount
from brokerwise.auditing.workload_files import check_workload, inspect_workload
from brokerwise.model.errors import InputError

Stage = Callable[[str], AbstractContextManager[Any]]
Part = TypeVar("Part")


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
