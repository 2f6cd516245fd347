"""The quick check: is a plan right, in one pass over its files?

Tasks read interests, subscribers and placement block by block and check every pair
where it lies; only counts by run and digests by block come back. What they find is
compared with what the plan says. A plan that is right needs nothing more. Of one that
is not, the quick check knows only that it is not: `spark.explained` says what is wrong.

Anything that is not as we write it is a deviation: other blocks, brokers that are not
numbered from 0, sums near 2^63. So what is said here in 64 bits is exact.
"""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from brokerwise.auditing.claims import Runs, runs_on_disk
from brokerwise.auditing.files import Case, digest_violations
from brokerwise.auditing.findings import Audit
from brokerwise.auditing.judgement import Naming, judged, summed_up
from brokerwise.auditing.quality import Period, largest_broker
from brokerwise.auditing.recount import BrokerCount, Recount, TopicSums, Worth, worth_of
from brokerwise.auditing.shares import (
    BlockDigests,
    Deviation,
    Reference,
    Share,
    ShareCount,
    blocks,
    merged,
    share_counted,
    shares_of,
)
from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.storage.tables import table_digest
from brokerwise.storage.workload import WorkloadHeader, read_topic_columns

Count: TypeAlias = Callable[[Case, Sequence[Share], Reference], ShareCount | Deviation]
"""Has shares checked, of which there is one at least, and merges the results."""

SAFE = float(2**62)
"""Sums up to here, added up in floating point, fit in 64 bits for certain."""

# A task takes a third of a second to start on a busy machine, and sends a number for
# each run: one a core will do, and more where there is much. Cores alone do not say how
# many: a cluster that grows with the work begins with few.
_PAIRS_PER_TASK = 16_000_000

_UNNAMED = Naming(lambda _: None, lambda _: None)


def quick_audit(
    case: Case, *, cores: int = 1, count: Count | None = None
) -> Audit | None:
    """The audit of a plan whose pairs are all right; None if one may not be.

    Reads every file once. A task holds a block of each table and a few numbers for
    each topic and run, the driver the latter. What plan.json and brokers.parquet say
    is judged as in any audit. A workload that has changed and files that cannot be
    used are not refused here: they give None. `count` runs the tasks, `cores` at a
    time; without it they run in this process.
    """
    try:
        return _audited(case, cores, count or counted_here)
    except (Deviation, InputError, pa.ArrowException, OSError):
        return None


def counted_here(
    case: Case, shares: Sequence[Share], reference: Reference
) -> ShareCount | Deviation:
    """Check one share after the other."""
    check = partial(share_counted, case.workload, case.plan.place)
    return reduce(merged, (check(share, reference) for share in shares))


def _audited(case: Case, cores: int, count: Count) -> Audit:
    files, header, claims = case.plan, case.header, case.plan.claims
    shares = shares_of(case, _tasks(header.pairs, cores))
    rates = _verified_rates(case)
    runs = _ordered_runs(case, len(rates))
    counted = _nothing(case, runs)
    if shares:
        counted = _sound(count(case, shares, _reference(case, rates, runs)))
    _verify_blocks(header, counted)
    if not np.array_equal(counted.pairs, runs.pairs):
        raise Deviation("the assignment states other numbers of pairs")
    recount = Recount(
        header.subscribers,
        _carried(runs, rates, len(claims.brokers)),
        worth=_worth(case, counted, rates),
    )
    found = digest_violations(files, [d.placement for d in _in_order(counted)])
    found += judged(
        claims,
        recount,
        _UNNAMED,
        Period.of(header),
        own_thresholds=counted.own_thresholds,
    )
    return summed_up(claims, recount, files.header.digest, found)


def _tasks(pairs: int, cores: int) -> int:
    return max(1, cores, pairs // _PAIRS_PER_TASK)


def _verified_rates(case: Case) -> Int64s:
    """The rates of topics that are those of the workload, names included."""
    header = case.header
    topics = read_topic_columns(case.workload, header.files["topics"])
    rates = topics.rates
    if len(rates) != header.topics:
        raise Deviation("workload.json states another number of topics")
    if topics.digest() != header.digests["topics"]:
        raise Deviation("the topics have changed")
    if rates.min(initial=0) < 0 or (rates[1:] > rates[:-1]).any():
        raise Deviation("topics do not go by descending rate")
    if rates.sum(dtype=np.float64) > SAFE:
        raise Deviation("rates are too large to be sure of their sums")
    return rates


def _ordered_runs(case: Case, topics: int) -> Runs:
    """The runs of the assignment by topic, then broker, which all exist.

    One that is there twice will show: all its pairs are counted for one of the two.
    """
    brokers = [claim.broker for claim in case.plan.claims.brokers]
    if brokers != list(range(len(brokers))):
        raise Deviation("brokers are not numbered from 0")
    runs = runs_on_disk(case.plan.assignment)
    for values, limit in ((runs.topic, topics), (runs.broker, len(brokers))):
        if len(values) and not 0 <= values.min() <= values.max() < limit:
            raise Deviation("the assignment has a topic or a broker that is not there")
    if runs.pairs.min(initial=1) < 1:
        raise Deviation("the assignment has a run without pairs")
    key = runs.topic.astype(np.int64) * len(brokers) + runs.broker
    if (key[1:] <= key[:-1]).any():
        order = np.argsort(key, kind="stable")
        runs = Runs(runs.topic[order], runs.broker[order], runs.pairs[order])
    return runs


def _reference(case: Case, rates: Int64s, runs: Runs) -> Reference:
    claims = case.plan.claims
    per_topic = np.bincount(runs.topic, minlength=len(rates))
    first_run = np.concatenate(([0], np.cumsum(per_topic))).astype(np.int32)
    promised = claims.common_threshold if claims.promises_thresholds else None
    return Reference(
        rates,
        first_run,
        runs.broker,
        promised,
        claims.kind == "fill",
        case.weights.subscribers,
    )


def _nothing(case: Case, runs: Runs) -> ShareCount:
    sums = None
    if case.plan.claims.kind == "fill":
        sums = TopicSums(*np.zeros((3, case.header.topics), np.uint8))
    return ShareCount(np.zeros(len(runs.pairs), np.uint8), 0, False, {}, sums)


def _worth(case: Case, counted: ShareCount, rates: Int64s) -> Worth | None:
    if counted.sums is None:
        return None
    largest = largest_broker(case.plan.claims)
    return worth_of(counted.sums, rates, case.weights.topics, largest)


def _sound(counted: ShareCount | Deviation) -> ShareCount:
    if isinstance(counted, Deviation):
        raise counted
    return counted


def _verify_blocks(header: WorkloadHeader, counted: ShareCount) -> None:
    """Refuse a workload that has changed, and blocks that were not looked at."""
    if sorted(counted.digests) != list(range(len(blocks(header.subscribers)))):
        raise Deviation("blocks are missing")
    if counted.wanted != header.pairs:
        raise Deviation("workload.json states another number of pairs")
    digests = _in_order(counted)
    if (
        table_digest(d.interests for d in digests) != header.digests["interests"]
        or table_digest(d.subscribers for d in digests) != header.digests["subscribers"]
        or header.content_digest() != header.digest
    ):
        raise Deviation("the workload has changed")


def _in_order(counted: ShareCount) -> list[BlockDigests]:
    return [counted.digests[number] for number in sorted(counted.digests)]


def _carried(runs: Runs, rates: Int64s, brokers: int) -> dict[int, BrokerCount]:
    """The load law: a broker receives a topic once and sends it once per pair."""
    rate = rates[runs.topic]
    if np.dot(rate.astype(np.float64), runs.pairs + 1.0) > SAFE:
        raise Deviation("loads are too large to be sure of their sums")
    one = np.ones_like(rate)
    counts = np.zeros((4, brokers), np.int64)
    for count, values in zip(
        counts, (one, runs.pairs, rate, rate * runs.pairs), strict=True
    ):
        np.add.at(count, runs.broker, values)
    carried = enumerate(counts.T.tolist())
    return {broker: BrokerCount(*count) for broker, count in carried if count[0]}
