"""The counting kernel, and what is made of the counts."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.kernels.profile import (
    COARSE_BITS,
    FINE_BITS,
    MOST_POINTS,
    Groups,
    distribution,
    log_bins,
    means,
    merged,
    profile_of,
    tally,
)
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.profile import Distribution, Profile

EXACT_BELOW = 2 << FINE_BITS
Lists = list[list[int]]


@st.composite
def workloads(draw: Any) -> tuple[Int64s, Lists]:
    """Rates, falling, and a sorted list of topics for each subscriber."""
    largest = draw(st.sampled_from([0, 3, 5_000, 10**15]))
    rates = draw(st.lists(st.integers(0, largest), max_size=8))
    topics = st.sets(st.integers(0, len(rates) - 1)) if rates else st.just(set())
    lists = draw(st.lists(topics, max_size=12))
    falling = np.array(sorted(rates, reverse=True), np.int64)
    return falling, [sorted(wanted) for wanted in lists]


def block(lists: Lists) -> tuple[Int64s, Int32s]:
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    return offsets, np.array([t for wanted in lists for t in wanted], np.int32)


def profiled(rates: Int64s, *parts: Lists) -> Profile:
    return profile_of(rates, tally(rates, map(block, parts)), 10, 200)


def assert_describes(found: Distribution, values: Sequence[int]) -> None:
    """Compare with counting by hand; quantiles may be a fine bin too high."""
    ordered = sorted(values)
    assert found.population == len(values)
    assert found.total == sum(values)
    assert found.max == max(values, default=0)
    for percent, quantile in ((50, found.p50), (90, found.p90), (99, found.p99)):
        rank = -(-len(values) * percent // 100)
        exact = ordered[rank - 1] if values else 0
        assert exact <= quantile <= max(exact, exact + (exact >> FINE_BITS))
        assert quantile == exact or exact >= EXACT_BELOW
    points = dict(zip(found.ccdf.values, found.ccdf.above, strict=True))
    assert points == {x: sum(v > x for v in values) for x in points}
    assert len(points) == len(found.ccdf.values)
    assert {v for v in values if v < EXACT_BELOW} <= set(points)


@given(workloads())
def test_a_profile_says_what_counting_by_hand_says(
    workload: tuple[Int64s, Lists],
) -> None:
    rates, lists = workload
    followers = [sum(t in wanted for wanted in lists) for t in range(len(rates))]
    received = [sum(int(rates[t]) for t in wanted) for wanted in lists]
    profile = profiled(rates, lists)
    assert_describes(profile.followers, followers)
    assert_describes(profile.followings, [len(wanted) for wanted in lists])
    assert_describes(profile.rate, rates.tolist())
    assert_describes(profile.received, received)
    assert profile.topics_without_subscribers == followers.count(0)
    assert profile.subscribers_without_topics == lists.count([])
    assert profile.pairs == sum(followers)
    assert profile.outgoing == sum(received)
    served = [t for t, count in enumerate(followers) if count]
    assert profile.load == sum(int(rates[t]) * (1 + followers[t]) for t in served)


@given(workloads())
def test_means_are_those_of_each_group(workload: tuple[Int64s, Lists]) -> None:
    rates, lists = workload
    followers = [sum(t in wanted for wanted in lists) for t in range(len(rates))]
    result = profiled(rates, lists).as_json()
    by_followers: dict[int, list[int]] = {}
    for count, rate in zip(followers, rates.tolist(), strict=True):
        by_followers.setdefault(count, []).append(rate)
    found = result["mean_rate_by_followers"]
    assert found["low"] == found["high"] == sorted(by_followers)
    assert found["means"] == [
        float(Fraction(sum(group), len(group)))
        for _, group in sorted(by_followers.items())
    ]
    by_followings: dict[int, list[int]] = {}
    for wanted in lists:
        got = sum(int(rates[t]) for t in wanted)
        by_followings.setdefault(len(wanted), []).append(got)
    published = sum(rates.tolist())
    found = result["mean_cardinality_by_followings"]
    assert found["low"] == found["high"] == sorted(by_followings)
    assert found["means"] == [
        float(Fraction(100 * sum(group), len(group) * published)) if published else 0.0
        for _, group in sorted(by_followings.items())
    ]


@given(workloads(), st.data())
def test_counting_in_parts_changes_nothing(
    workload: tuple[Int64s, Lists], data: st.DataObject
) -> None:
    rates, lists = workload
    first, second = sorted(data.draw(st.integers(0, len(lists))) for _ in range(2))
    parts = [lists[:first], lists[first:second], lists[second:]]
    a, b, c = (tally(rates, [block(part)]) for part in parts)
    whole = profiled(rates, lists)
    assert profiled(rates, *parts) == whole
    assert profile_of(rates, merged(merged(a, b), c), 10, 200) == whole
    assert profile_of(rates, merged(c, merged(b, a)), 10, 200) == whole


def test_followers_beyond_a_byte_survive_merging() -> None:
    rates = np.array([7, 1], np.int64)
    part = tally(rates, [block([[0]] * 200)])
    both = merged(part, part)
    assert part.followers.tolist() == [200, 0]
    assert both.followers.tolist() == [400, 0]


@given(st.lists(st.integers(0, 2**63 - 1)), st.sampled_from([COARSE_BITS, FINE_BITS]))
def test_log_bins_are_in_order_and_narrow(values: list[int], bits: int) -> None:
    ordered = np.array(sorted(values), np.int64)
    bins = log_bins(ordered, bits)
    assert (np.diff(bins) >= 0).all()
    together = np.diff(ordered)[np.diff(bins) == 0]
    assert (together <= ordered[:-1][np.diff(bins) == 0] >> bits).all()


@pytest.mark.parametrize("bits", [COARSE_BITS, FINE_BITS])
def test_log_bins_begin_at_every_value_and_leave_no_gap(bits: int) -> None:
    bins = log_bins(np.arange(200_000, dtype=np.int64), bits)
    exact = 2 << bits
    assert bins[:exact].tolist() == list(range(exact))
    assert set(np.diff(bins).tolist()) == {0, 1}
    first = np.flatnonzero(np.diff(bins)) + 1
    assert (np.diff(first) <= np.maximum(1, first[:-1] >> bits)).all()


def test_the_most_that_fits_in_64_bits_has_a_bin() -> None:
    rates = np.array([2**62 - 1], np.int64)
    assert profiled(rates, [[0]]).received.max == 2**62 - 1


def test_many_values_are_thinned_to_exact_points() -> None:
    generator = np.random.default_rng(5)
    values = np.unique((10 ** generator.uniform(0, 7, 50_000)).astype(np.int64))
    members = generator.integers(1, 9, len(values))
    groups = Groups(values, members, values * members)
    found = distribution(groups, int((values * members).sum()))
    everyone = np.repeat(values, members)
    assert len(values) > MOST_POINTS >= len(found.ccdf.values) > 200
    for value, above in zip(found.ccdf.values, found.ccdf.above, strict=True):
        assert above == (everyone > value).sum()
    assert (np.diff(np.log(found.ccdf.values)) < 0.7).all()
    assert found.ccdf.values[-1] == values[-1]


def test_thinned_means_keep_every_member_and_total() -> None:
    values = np.arange(3, 100_000, 7, dtype=np.int64)
    members = values % 5 + 1
    found = means(Groups(values, members, values * 2))
    assert len(found.low) <= MOST_POINTS
    rows = zip(found.low, found.high, found.members, found.totals, strict=True)
    for low, high, count, total in rows:
        inside = (values >= low) & (values <= high)
        assert count == members[inside].sum()
        assert total == 2 * values[inside].sum()
    assert sum(found.members) == members.sum()
    assert sum(found.totals) == 2 * values.sum()


def test_topics_that_do_not_exist_are_refused() -> None:
    rates = np.array([3, 1], np.int64)
    with pytest.raises(InputError, match="found topics 0 to 2, expected 0 to 1"):
        tally(rates, [block([[0, 2]])])


def test_a_sum_that_overflows_is_refused() -> None:
    rates = np.full(3, 2**62, np.int64)
    with pytest.raises(InputError, match="does not fit in 64 bits"):
        tally(rates, [block([[0], [0, 1, 2]])])


def test_a_profile_reads_as_a_line() -> None:
    profile = profiled(np.array([1000, 5], np.int64), [[0], [0, 1]])
    assert repr(profile) == (
        "Profile(2 topics, 2 subscribers, 3 pairs, 1,005 messages published and "
        "2,005 delivered in 10 s)"
    )


def test_cardinality_is_a_share_of_what_is_published() -> None:
    result = profiled(np.array([6, 2], np.int64), [[0], [0, 1], []]).as_json()
    found = result["subscription_cardinality"]
    assert found["ccdf"]["values"] == [0.0, 75.0, 100.0]
    assert found["ccdf"]["above"] == [2, 1, 0]
    assert found["ccdf"]["shares"] == [2 / 3, 1 / 3, 0.0]
    assert (found["p50"], found["max"]) == (75.0, 100.0)
    assert found["mean"] == pytest.approx(175 / 3)


def test_without_messages_every_cardinality_is_zero() -> None:
    result = profiled(np.zeros(2, np.int64), [[0], [0, 1], []]).as_json()
    assert result["subscription_cardinality"]["max"] == 0
    assert result["subscription_cardinality"]["mean"] == 0
    assert result["mean_cardinality_by_followings"]["means"] == [0, 0, 0]


def test_bandwidths_follow_from_period_and_message_size() -> None:
    result = profiled(np.array([500, 250], np.int64), [[0], [0, 1]]).as_json()
    # 1,250 messages of 200 bytes in 10 s: 25,000 bytes a second.
    assert result["outgoing_mbit_s"] == pytest.approx(0.2)
    assert result["load_mbit_s"] == pytest.approx(0.32)
    assert result["published_mbit_s"] == pytest.approx(0.12)
