"""The audit of a plan that fits in memory, on numpy arrays and without Spark.

Counts from the pairs up and shares no code with planners: the load law is stated
here again.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from brokerwise.auditing.claims import (
    Claims,
    Rows,
    Runs,
    claims_of_plan,
    rows_of_plan,
    rows_on_disk,
    runs_on_disk,
)
from brokerwise.auditing.files import (
    Case,
    block_digests,
    check_workload,
    digest_violations,
    disordered,
    inspect_placement,
    inspect_workload,
    open_case,
    read_placement,
)
from brokerwise.auditing.findings import SHOWN, Audit, Violation
from brokerwise.auditing.judgement import Naming, judged, name_in, summed_up
from brokerwise.auditing.quality import Period, largest_broker
from brokerwise.auditing.recount import (
    BrokerCount,
    Example,
    Lists,
    Pair,
    Recount,
    Row,
    Run,
    Shortfall,
    Tally,
    TopicSums,
    Worth,
    worth_of,
)
from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.model.plan import Plan
from brokerwise.model.workload import Weights, Workload
from brokerwise.storage.place import Place
from brokerwise.storage.workload import read_workload


@dataclass(frozen=True, eq=False)
class Pairs:
    """Distinct pairs by subscriber, then topic, and how often each is served."""

    subscriber: Int64s
    topic: Int32s
    times: Int64s

    def where(self, which: Bools) -> "Pairs":
        return Pairs(self.subscriber[which], self.topic[which], self.times[which])

    def tally(self) -> Tally[Pair]:
        return _tally(Pair, self.subscriber, self.topic, self.times)


def recounted(
    claims: Claims, rows: Rows, runs: Runs, workload: Workload, weights: Weights
) -> Recount:
    """What the rows amount to, beside the runs that the plan says they make.

    Costs a sort of the pairs (none if they are in order) and of the runs.
    """
    sizes = np.minimum(np.diff(rows.topic_offsets), np.diff(rows.broker_offsets))
    topic = rows.topics[_heads(rows.topic_offsets, sizes)]
    broker = rows.brokers[_heads(rows.broker_offsets, sizes)]
    found = _counted_runs(topic, broker)
    place = _places(claims, found)
    owner = np.repeat(rows.subscriber, sizes)
    pairs = _distinct(owner, topic)
    wanted = _wanted(pairs, workload)
    repeated = pairs.where(pairs.times > 1)
    people, times = np.unique(rows.subscriber, return_counts=True)
    known = (people >= 0) & (people < workload.subscribers)
    missing = np.setdiff1d(np.arange(workload.subscribers), people[known])
    return Recount(
        subscribers=workload.subscribers,
        brokers=_carried(claims, place, found, workload.rates),
        runs=_differing(found, runs),
        unhosted=_unhosted(found, place < 0),
        missing=_tally(Row, missing, np.zeros_like(missing)),
        strangers=_tally(Row, people[~known], times[~known]),
        doubled=_tally(Row, people[times > 1], times[times > 1]),
        misaligned=_misaligned(rows),
        repeated=replace(repeated.tally(), total=int((repeated.times - 1).sum())),
        unwanted=pairs.where(~wanted).tally(),
        short=_shortfalls(claims, pairs.where(wanted), workload),
        worth=_worth(claims, owner, topic, broker, workload, weights),
    )


def _carried(
    claims: Claims, place: Int64s, runs: Runs, rates: Int64s
) -> dict[int, BrokerCount]:
    """The load law: a broker receives a topic once and sends it once per pair."""
    hosted = place >= 0
    place, pairs = place[hosted], runs.pairs[hosted]
    rate = _rates(runs.topic[hosted], rates)
    brokers = _brokers(claims)
    counts = np.zeros((4, len(brokers)), object)
    for row, values in enumerate((1, pairs, rate, rate * pairs)):
        np.add.at(counts[row], place, values)
    return {
        int(brokers[i]): BrokerCount(*(int(count) for count in counts[:, i]))
        for i in np.flatnonzero(counts[0])
    }


def _rates(topics: Int32s, rates: Int64s) -> npt.NDArray[np.object_]:
    """The rate of each topic, 0 for one that is not there.

    Python's integers: a forged plan must not wrap around to a small load.
    """
    known = (topics >= 0) & (topics < len(rates))
    found = np.zeros(len(topics), object)
    found[known] = rates[topics[known]]
    return found


def _brokers(claims: Claims) -> Int64s:
    return np.unique(np.array([b.broker for b in claims.brokers], np.int64))


def _places(claims: Claims, runs: Runs) -> Int64s:
    """Where each run's broker stands among the plan's brokers; -1 if it does not."""
    brokers = _brokers(claims)
    place = np.searchsorted(brokers, runs.broker)
    there = place < len(brokers)
    there[there] = brokers[place[there]] == runs.broker[there]
    return np.where(there, place, -1)


def _unhosted(runs: Runs, which: Bools) -> Tally[Run]:
    topic, broker, pairs = runs.topic[which], runs.broker[which], runs.pairs[which]
    nothing = np.zeros_like(pairs)
    tally = _tally(Run, topic, broker, pairs, nothing, nothing)
    return replace(tally, total=int(pairs.sum()))


def _differing(found: Runs, said: Runs) -> Tally[Run]:
    """Topics on brokers of which the plan says another number of pairs."""
    said_keys, row = np.unique(_keys(said.topic, said.broker), return_inverse=True)
    found_keys = _keys(found.topic, found.broker)
    keys = np.union1d(said_keys, found_keys)
    pairs, claimed, rows = np.zeros((3, len(keys)), np.int64)
    pairs[np.searchsorted(keys, found_keys)] = found.pairs
    at = np.searchsorted(keys, said_keys)[row]
    np.add.at(claimed, at, said.pairs)
    np.add.at(rows, at, 1)
    differs = (pairs != claimed) | (rows != 1)
    topic, broker = _unkeyed(keys[differs])
    return _tally(Run, topic, broker, pairs[differs], claimed[differs], rows[differs])


def _counted_runs(topic: Int32s, broker: Int32s) -> Runs:
    keys, pairs = np.unique(_keys(topic, broker), return_counts=True)
    return Runs(*_unkeyed(keys), pairs)


def _keys(topic: Int32s, broker: Int32s) -> Int64s:
    """One number for each (topic, broker), in their order, negative ones included."""
    return (topic.astype(np.int64) << 32) + (broker.astype(np.int64) + 2**31)


def _unkeyed(keys: Int64s) -> tuple[Int32s, Int32s]:
    brokers = (keys & (2**32 - 1)) - 2**31
    return (keys >> 32).astype(np.int32), brokers.astype(np.int32)


def _misaligned(rows: Rows) -> Tally[Lists]:
    topics, brokers = np.diff(rows.topic_offsets), np.diff(rows.broker_offsets)
    at = np.flatnonzero(topics != brokers)
    at = at[np.lexsort((brokers[at], topics[at], rows.subscriber[at]))]
    return _tally(Lists, rows.subscriber[at], topics[at], brokers[at])


def _distinct(owner: Int64s, topic: Int32s) -> Pairs:
    step, climb = np.diff(owner), np.diff(topic)
    if ((step < 0) | ((step == 0) & (climb < 0))).any():
        order = np.lexsort((topic, owner))
        owner, topic = owner[order], topic[order]
        step, climb = np.diff(owner), np.diff(topic)
    new = np.ones(len(owner), np.bool_)
    new[1:] = (step != 0) | (climb != 0)
    starts = np.flatnonzero(new)
    return Pairs(owner[starts], topic[starts], np.diff(np.append(starts, len(owner))))


def _wanted(pairs: Pairs, workload: Workload) -> Bools:
    """Which of the pairs are among the workload's interests."""
    inside = (pairs.subscriber >= 0) & (pairs.subscriber < workload.subscribers)
    inside &= (pairs.topic >= 0) & (pairs.topic < workload.topics)
    interests = workload.interests.owners() * workload.topics
    interests += workload.interests.topics
    key = pairs.subscriber[inside] * workload.topics + pairs.topic[inside]
    at = np.searchsorted(interests, key)
    there = at < len(interests)
    there[there] = interests[at[there]] == key[there]
    inside[inside] = there
    return inside


def _shortfalls(claims: Claims, served: Pairs, workload: Workload) -> Tally[Shortfall]:
    """Subscribers below min(threshold, all they want); rate 0 helps nobody."""
    if not claims.promises_thresholds:
        return Tally()
    rates, interests = workload.rates, workload.interests
    bounds = np.searchsorted(served.subscriber, np.arange(workload.subscribers + 1))
    received = _sums(rates[served.topic], bounds)
    threshold = np.full(workload.subscribers, claims.common_threshold)
    if workload.thresholds is not None:
        own = workload.thresholds >= 0
        threshold[own] = workload.thresholds[own]
    wanted = _sums(rates[interests.topics], interests.offsets)
    threshold = np.minimum(threshold, wanted)
    short = np.flatnonzero(received < threshold)
    return _tally(Shortfall, short, received[short], threshold[short])


def _worth(
    claims: Claims,
    owner: Int64s,
    topic: Int32s,
    broker: Int32s,
    workload: Workload,
    weights: Weights,
) -> Worth | None:
    """What is wanted, and what is served by brokers of the plan, is worth.

    Subscribers that the workload does not have weigh 1.
    """
    if claims.kind != "fill":
        return None
    interests, topics = workload.interests, workload.topics
    weight = np.ones(workload.subscribers + 1, np.int64)
    if weights.subscribers is not None:
        weight[:-1] = weights.subscribers
    known = (owner >= 0) & (owner < workload.subscribers)
    there = (topic >= 0) & (topic < topics) & np.isin(broker, _brokers(claims))
    followers, wanted, served = np.zeros((3, topics), np.int64)
    np.add.at(followers, interests.topics, 1)
    np.add.at(wanted, interests.topics, weight[interests.owners()])
    np.add.at(served, topic[there], weight[np.where(known, owner, -1)[there]])
    sums = TopicSums(followers, wanted, served)
    return worth_of(sums, workload.rates, weights.topics, largest_broker(claims))


def _heads(offsets: Int64s, sizes: Int64s) -> Int64s:
    """The positions of the first so many values of each list."""
    starts = np.cumsum(sizes) - sizes
    shifts: Int64s = np.repeat(offsets[:-1] - starts, sizes)
    return shifts + np.arange(len(shifts))


def _sums(values: Int64s, offsets: Int64s) -> Int64s:
    running = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=running[1:])
    return running[offsets[1:]] - running[offsets[:-1]]


def _tally(
    example: Callable[..., Example], *columns: npt.NDArray[np.integer]
) -> Tally[Example]:
    """All rows of the columns counted, and the first few of them as examples."""
    rows = zip(*(column[:SHOWN].tolist() for column in columns), strict=True)
    return Tally(len(columns[0]), tuple(example(*row) for row in rows))


def violations(plan: Plan, workload: Workload) -> list[Violation]:
    """All that is wrong with a plan; the first few of each check are named.

    Shares no code with planners and believes nothing that the plan says. Costs a
    sort of the pairs at most, and a few arrays of their length. Raises InputError for
    weights that are not one for each topic or subscriber of the workload.
    """
    claims = claims_of_plan(plan)
    runs = Runs(plan.placement.topic, plan.placement.broker, plan.placement.pairs)
    plan.weights.check(workload)
    recount = recounted(claims, rows_of_plan(plan), runs, workload, plan.weights)
    return _judged(claims, recount, workload)


def audit_directory(plan: Place, workload: Place | None = None) -> Audit:
    """Audit a plan directory against its workload, all of it in memory.

    `workload` is where the plan says unless given. Raises InputError for a directory
    or a file that cannot be used, DigestMismatchError for a workload that is not the
    plan's or has changed. The findings are those of the Spark engine.
    """
    return audit_case(open_case(plan, workload))


def audit_case(case: Case) -> Audit:
    """Audit a plan that was opened, or is staged, all of it in memory."""
    files, place, header = case.plan, case.workload, case.header
    names = header.files["interests"]
    check_workload(place, header, [inspect_workload(place, n) for n in names])
    parts = [inspect_placement(files.place, name) for name in files.parts]
    wanted = read_workload(place)
    rows = rows_on_disk([read_placement(files.place, name) for name in files.parts])
    runs = runs_on_disk(files.assignment)
    recount = recounted(files.claims, rows, runs, wanted, case.weights)
    recount = replace(recount, disordered=disordered(parts))
    found = digest_violations(files, block_digests(parts))
    found += _judged(files.claims, recount, wanted)
    return summed_up(files.claims, recount, files.header.digest, found)


def _judged(claims: Claims, recount: Recount, workload: Workload) -> list[Violation]:
    naming = Naming(name_in(workload.topic_names), name_in(workload.subscriber_names))
    own = workload.thresholds is not None
    period = Period.of(workload)
    return judged(claims, recount, naming, period, own_thresholds=own)
