"""The audit of a plan directory of any size, on Spark, in two steps.

The quick check (`quick`) reads every file once and checks every pair with compiled
loops. A plan that is right is through with it. If pairs, runs or files deviate, the
full audit (`explain`), made of DataFrame expressions, finds out how, counts and names.
"""

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from functools import partial

from pyspark import SparkContext
from pyspark.sql import SparkSession

from brokerwise.auditing.case import Case, open_case
from brokerwise.auditing.explain import Stage, explained
from brokerwise.auditing.findings import Audit
from brokerwise.auditing.layout import Deviation, Share
from brokerwise.auditing.quick import quick_audit
from brokerwise.auditing.share_check import Counted, Reference, merged, share_counted
from brokerwise.storage.place import Place

# Results of so many tasks may reach the driver at once; more meet on the way.
_AT_ONCE = 8


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
) -> Counted | Deviation:
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
