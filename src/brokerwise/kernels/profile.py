"""Counting a workload: who follows what, and how much everybody receives.

Everything is whole numbers that add up in any order, so a workload may be counted
in any number of parts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerwise.kernels.compile import kernel
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.load import run_loads
from brokerwise.model.profile import Ccdf, Distribution, Means, Profile

# Bins of 2^bits to the octave: one number wide below 2^(bits + 1), then 2^-bits.
FINE_BITS = 10  # what a subscriber receives: 884 kB of counts for all of int64
COARSE_BITS = 4  # points of a curve: 6 % apart, under 400 of them up to 10^8
MOST_POINTS = 400
_FINE_BINS = (64 - FINE_BITS) << FINE_BITS


@dataclass(frozen=True, eq=False)
class Groups:
    """Members by a number: `members[i]` have `values[i]`, which ascend, and
    `totals[i]` of another number together.
    """

    values: Int64s
    members: Int64s
    totals: Int64s


@dataclass(frozen=True, eq=False)
class Tally:
    """The counts of some of the subscribers.

    Attributes
    ----------
    followers
        Of each topic, in the narrowest type that holds them.
    followings
        Subscribers by number of topics; totals are what they receive.
    received
        Subscribers by fine log bin of what they receive.
    most_received
        What the one of each bin that receives most does.
    """

    followers: npt.NDArray[Any]
    followings: Groups
    received: Int64s
    most_received: Int64s


def tally(rates: Int64s, blocks: Iterable[tuple[Int64s, Int32s]]) -> Tally:
    """Count blocks of interests, each given as offsets and topics.

    O(pairs) time; memory for two numbers a topic and for one block. Topics that do
    not exist and sums past 2^63 - 1 are refused.
    """
    followers = np.zeros(len(rates), np.int64)
    received, most_received = np.zeros((2, _FINE_BINS), np.int64)
    members = totals = np.zeros(0, np.int64)
    for offsets, topics in blocks:
        if len(topics) and not 0 <= topics.min() <= topics.max() < len(rates):
            raise InputError(
                f"interests: found topics {topics.min():,} to {topics.max():,}, "
                f"expected 0 to {len(rates) - 1:,}"
            )
        longest = int(np.diff(offsets).max(initial=0))
        members, totals = _grown(members, longest), _grown(totals, longest)
        counts = (followers, members, totals, received, most_received)
        if not _count(offsets, topics, rates, *counts):
            raise InputError("what a subscriber receives does not fit in 64 bits")
    values = np.flatnonzero(members)
    followings = Groups(values, members[values], totals[values])
    return Tally(_narrow(followers), followings, received, most_received)


def merged(one: Tally, other: Tally) -> Tally:
    """The tally of both their subscribers."""
    a, b = one.followings, other.followings
    return Tally(
        _narrow(one.followers.astype(np.int64) + other.followers),
        _grouped(
            np.concatenate([a.values, b.values]),
            np.concatenate([a.members, b.members]),
            np.concatenate([a.totals, b.totals]),
        ),
        one.received + other.received,
        np.maximum(one.most_received, other.most_received),
    )


def profile_of(
    rates: Int64s, counts: Tally, period_seconds: int, message_bytes: int
) -> Profile:
    """The profile of a workload from its rates and the counts of all subscribers."""
    followers = counts.followers.astype(np.int64)
    wanted = followers > 0
    once = np.ones(len(rates), np.int64)
    by_followers = _grouped(followers, once, rates)
    by_rate = _grouped(rates, once, rates)
    bins = np.flatnonzero(counts.received)
    received = Groups(
        counts.most_received[bins],
        counts.received[bins],
        np.zeros(len(bins), np.int64),
    )
    load = int(run_loads(rates, followers)[wanted].sum())
    incoming = int(rates[wanted].sum())
    pairs = int(followers.sum())
    idle = counts.followings.members[counts.followings.values == 0].sum()
    return Profile(
        period_seconds=period_seconds,
        message_bytes=message_bytes,
        topics_without_subscribers=len(rates) - int(wanted.sum()),
        subscribers_without_topics=int(idle),
        incoming=incoming,
        followers=distribution(by_followers, pairs),
        followings=distribution(counts.followings, pairs),
        rate=distribution(by_rate, int(rates.sum())),
        received=distribution(received, load - incoming),
        rate_by_followers=means(by_followers),
        received_by_followings=means(counts.followings),
    )


def distribution(groups: Groups, total: int) -> Distribution:
    """Quantiles by nearest rank, and the CCDF at every value or at log-spaced ones."""
    if not len(groups.values):
        return Distribution(0, total, 0, 0, 0, 0, Ccdf((), ()))
    upto = np.cumsum(groups.members)
    population = int(upto[-1])
    ranks = [-(-population * percent // 100) for percent in (50, 90, 99, 100)]
    p50, p90, p99, largest = groups.values[np.searchsorted(upto, ranks)].tolist()
    last = _ends(groups)
    ccdf = Ccdf(_integers(groups.values[last]), _integers(population - upto[last]))
    return Distribution(population, total, p50, p90, p99, largest, ccdf)


def means(groups: Groups) -> Means:
    """Members and totals of every value, or of log-spaced runs of values."""
    last = _ends(groups)
    first = np.concatenate([np.zeros(1, np.int64), last[:-1] + 1])[: len(last)]
    members = np.add.reduceat(groups.members, first) if len(first) else first
    totals = np.add.reduceat(groups.totals, first) if len(first) else first
    return Means(
        _integers(groups.values[first]),
        _integers(groups.values[last]),
        _integers(members),
        _integers(totals),
    )


@kernel
def log_bin(value: int, bits: int) -> int:
    """The log bin of a value from 0 to 2^63 - 1."""
    shift = 0
    while (value >> shift) >= (2 << bits):
        shift += 1
    return (shift << bits) + (value >> shift)


@kernel
def log_bins(values: Int64s, bits: int) -> Int64s:
    """The log bin of each value."""
    bins = np.empty(len(values), np.int64)
    for i in range(len(values)):
        bins[i] = log_bin(values[i], bits)
    return bins


@kernel
def _count(
    offsets: Int64s,
    topics: Int32s,
    rates: Int64s,
    followers: Int64s,
    members: Int64s,
    totals: Int64s,
    received: Int64s,
    most_received: Int64s,
) -> bool:
    """Add one block's counts to the arrays, or stop at a sum that overflows: a
    damaged file must not make it write outside of them.
    """
    for subscriber in range(len(offsets) - 1):
        start, end = offsets[subscriber], offsets[subscriber + 1]
        total = 0
        for pair in range(start, end):
            topic = topics[pair]
            followers[topic] += 1
            total += rates[topic]
        if total < 0:
            return False
        members[end - start] += 1
        totals[end - start] += total
        place = log_bin(total, FINE_BITS)
        received[place] += 1
        most_received[place] = max(most_received[place], total)
    return True


def _ends(groups: Groups) -> Int64s:
    """The last group of each point of a curve."""
    if len(groups.values) <= MOST_POINTS:
        return np.arange(len(groups.values))
    bins = log_bins(groups.values, COARSE_BITS)
    return np.append(np.flatnonzero(np.diff(bins)), len(bins) - 1)


def _grouped(keys: Int64s, members: Int64s, totals: Int64s) -> Groups:
    values, group = np.unique(keys, return_inverse=True)
    sums = np.zeros((2, len(values)), np.int64)
    np.add.at(sums[0], group, members)
    np.add.at(sums[1], group, totals)
    return Groups(values, sums[0], sums[1])


def _grown(counts: Int64s, longest: int) -> Int64s:
    """The same counts with room for one at `longest`."""
    if longest < len(counts):
        return counts
    grown = np.zeros(longest + 1, np.int64)
    grown[: len(counts)] = counts
    return grown


def _narrow(counts: Int64s) -> npt.NDArray[Any]:
    """Cheaper to send: most topics have few followers in any one part."""
    most = counts.max(initial=0)
    kinds = (np.uint8, np.uint16, np.uint32, np.int64)
    return counts.astype(next(k for k in kinds if most <= np.iinfo(k).max))


def _integers(values: Int64s) -> tuple[int, ...]:
    return tuple(values.tolist())
