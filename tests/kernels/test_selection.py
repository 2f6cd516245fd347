"""Selections of pairs, against their definitions."""

from collections import Counter
from dataclasses import asdict
from fractions import Fraction
from itertools import pairwise
from math import isclose
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted
from tests.kernels.subscribers import (
    FIRST,
    Case,
    Lists,
    cases,
    least_sum,
    prices_for,
    selected,
    surveyed,
)

from brokerwise.kernels import blocks, covering, exact, names, selection, subset_sums
from brokerwise.kernels.selection import SELECTIONS, Rule, Survey, Topics

KERNELS = (blocks, covering, exact, exact, selection, selection, subset_sums, names)
popularity = st.lists(st.integers(0, 9), min_size=12, max_size=12)


def rule_named(name: str, case: Case, others: list[int], seed: int = 0) -> Rule:
    prices = prices_for(case, others[: len(case.topics.rates)])
    return Rule(name, seed, prices if name == "priced" else None)


def literal_greedy(case: Case, i: int) -> list[int]:
    """Algorithms 1 and 2 as printed; ties by larger rate, then lower id."""
    chosen: list[int] = []
    while (rest := case.due(i) - case.rate(chosen)) > 0:
        left = [t for t in case.carried(i) if t not in chosen]
        if not left:
            break
        rates = {t: case.rate([t]) for t in left}
        chosen.append(
            max(
                left,
                key=lambda t: (
                    min(Fraction(1), Fraction(rates[t], rest)) / (2 * rates[t]),
                    rates[t],
                    -t,
                ),
            )
        )
    return sorted(chosen)


@pytest.mark.parametrize("name", SELECTIONS)
@given(case=cases(), others=popularity)
def test_everyone_gets_enough_of_what_it_wants_and_can_be_carried(
    name: str, case: Case, others: list[int]
) -> None:
    lists, counts = selected(case, rule_named(name, case, others))
    for i, chosen in enumerate(lists):
        carried = case.carried(i)
        assert chosen == sorted(set(chosen))
        assert set(chosen) <= set(carried)
        assert case.rate(chosen) >= min(case.due(i), case.rate(carried))
        assert chosen == [] or case.due(i) > 0
    found = Counter(t for chosen in lists for t in chosen)
    assert counts.tolist() == [found[t] for t in range(len(counts))]


@given(cases())
def test_greedy_is_the_published_algorithm(case: Case) -> None:
    lists, _ = selected(case, Rule("greedy"))
    assert lists == [literal_greedy(case, i) for i in range(len(lists))]


def test_greedy_takes_the_first_of_the_smallest_that_it_passed_over() -> None:
    topics = Topics(np.array([9, 5, 5, 5, 4, 1]), 0, 6)
    case = Case(topics, [[0, 1, 2, 3], [0, 1, 2, 3], [0, 2, 3, 4]], [7, 12, 7])
    lists, _ = selected(case, Rule("greedy"))
    assert lists == [[1, 2], [0, 1], [2, 4]]


@given(cases())
def test_exact_delivers_the_least(case: Case) -> None:
    lists, _ = selected(case, Rule("exact"))
    for i, chosen in enumerate(lists):
        ways = [case.rate(way) for way in case.ways(i)]
        assert case.rate(chosen) == min(ways, default=case.rate(case.carried(i)))


@given(cases(), popularity)
def test_priced_costs_the_least_where_there_is_little_to_try(
    case: Case, others: list[int]
) -> None:
    rule = rule_named("priced", case, others)
    assert rule.prices is not None
    lists, _ = selected(case, rule)
    for i, chosen in enumerate(lists):
        costs = [sum(rule.prices[list(way)]) for way in case.ways(i)]
        if costs:
            assert isclose(sum(rule.prices[chosen]), min(costs), rel_tol=1e-12)


@given(st.integers(0, 2**32), st.sampled_from([300, 10_000, 10**9]))
def test_priced_is_never_dearer_than_exact(seed: int, largest: int) -> None:
    case, others = long_lists(seed, largest)
    rule = rule_named("priced", case, others)
    assert rule.prices is not None
    cheap, _ = selected(case, rule)
    least, _ = selected(case, Rule("exact"))
    for i, (one, other) in enumerate(zip(cheap, least, strict=True)):
        assert case.rate(one) >= case.due(i)
        assert sum(rule.prices[one]) <= sum(rule.prices[other]) * (1 + 1e-12)


def long_lists(seed: int, largest: int) -> tuple[Case, list[int]]:
    """Subscribers that want dozens of topics, and how many others get each."""
    random = np.random.default_rng(seed)
    rates = np.sort(random.integers(1, largest, 80))[::-1].astype(np.int64)
    sizes = random.integers(20, 70, 4)
    lists = [sorted(random.choice(80, n, False).tolist()) for n in sizes]
    needs = random.integers(1, 10 * largest, 4).tolist()
    return Case(Topics(rates, 0, 80), lists, needs), random.integers(0, 6, 80).tolist()


@pytest.mark.parametrize("name", SELECTIONS)
@given(case=cases(), others=popularity, cut=st.integers(0, 6))
def test_blocks_do_not_matter(
    name: str, case: Case, others: list[int], cut: int
) -> None:
    rule = rule_named(name, case, others, seed=3)
    cut = min(cut, len(case.lists))
    whole, counts = selected(case, rule)
    one, some = selected(case, rule, 0, cut)
    other, rest = selected(case, rule, cut, len(case.lists))
    assert whole == one + other
    assert counts.tolist() == (some + rest).tolist()


def test_random_orders_are_uniform_and_differ_by_subscriber_and_seed() -> None:
    """With equal rates and a need of two, every pair of four topics is as likely."""
    subscribers = 6_000
    topics = Topics(np.full(4, 5), 0, 4)
    case = Case(topics, [[0, 1, 2, 3]] * subscribers, [10] * subscribers)
    lists, _ = selected(case, Rule("random", seed=1))
    found = Counter(map(tuple, lists))
    assert len(found) == 6
    assert all(abs(n - 1_000) < 150 for n in found.values())  # 5 sigma
    other, _ = selected(case, Rule("random", seed=2))
    same = sum(a == b for a, b in zip(lists, other, strict=True))
    assert abs(same - 1_000) < 150
    again, _ = selected(case, Rule("random", seed=1))
    assert lists == again


def test_random_stops_as_soon_as_the_need_is_met() -> None:
    topics = Topics(np.full(30, 5), 0, 30)
    case = Case(topics, [list(range(30))] * 50, [1 + i for i in range(50)])
    lists, _ = selected(case, Rule("random"))
    assert [len(chosen) for chosen in lists] == [-(-need // 5) for need in case.needs]


@given(cases(), popularity)
def test_kernels_stay_within_their_arrays(case: Case, others: list[int]) -> None:
    """Interpreted, a step outside an array raises; and the answers are the same."""
    for name in SELECTIONS:
        rule = rule_named(name, case, others)
        compiled, _ = selected(case, rule)
        with interpreted(*KERNELS):
            plain, _ = selected(case, rule)
        assert compiled == plain


@pytest.mark.parametrize(
    ("name", "prices"), [("cheapest", None), ("priced", None), ("exact", np.ones(1))]
)
def test_a_rule_that_makes_no_sense_is_refused(
    name: str, prices: np.ndarray[tuple[int], np.dtype[np.float64]] | None
) -> None:
    with pytest.raises(ValueError, match=r"selection|prices"):
        Rule(name, prices=prices)


def numbers(survey: Survey) -> dict[str, Any]:
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in asdict(survey).items()
    }


def tally(case: Case, lists: Lists) -> list[int]:
    return [sum(t in wanted for wanted in lists) for t in range(len(case.topics.rates))]


@given(cases())
def test_a_survey_counts_what_counting_by_hand_counts(case: Case) -> None:
    everyone = range(len(case.lists))
    short = [i for i in everyone if case.rate(case.carried(i)) < case.due(i)]
    forced = [
        [
            t
            for t in case.carried(i)
            if case.rate(case.carried(i)) - case.rate([t]) < case.due(i)
        ]
        for i in everyone
    ]
    found = numbers(surveyed(case))
    assert found["followers"] == tally(case, case.lists)
    assert found["counts"] == selected(case, Rule("exact"))[1].tolist()
    assert found["forced"] == tally(case, forced)
    assert found["modest"] == sum(
        0 < sum(case.rates_of(i)) < case.needs[i] for i in everyone
    )
    assert found["unreachable"] == len(short)
    assert found["example"] == (FIRST + short[0] if short else -1)
    assert found["needed_rate"] == max((needed_rate(case, i) for i in short), default=0)


def needed_rate(case: Case, i: int) -> int:
    """The smallest rate such that topics up to it meet a subscriber's need."""
    rates = case.rates_of(i)
    enough = (
        limit
        for limit in sorted(rates)
        if sum(rate for rate in rates if rate <= limit) >= case.due(i)
    )
    return next(enough)


@given(cases())
def test_forced_topics_are_in_every_way_to_meet_a_need(case: Case) -> None:
    every = [
        [t for t in case.carried(i) if all(t in way for way in case.ways(i))]
        for i in range(len(case.lists))
    ]
    assert surveyed(case).forced.tolist() == tally(case, every)


@given(cases(reachable=True))
def test_outgoing_is_the_least_and_not_below_the_published_bound(case: Case) -> None:
    least = [min(map(case.rate, case.ways(i))) for i in range(len(case.lists))]
    survey = surveyed(case)
    assert survey.paper <= survey.outgoing == sum(least)
    assert survey.paper == sum(
        max(case.due(i), min(case.rate([t]) for t in case.carried(i)))
        for i in range(len(case.lists))
        if case.due(i)
    )


@given(st.integers(0, 2**32))
def test_outgoing_is_proven_where_sums_are_too_many_to_try(seed: int) -> None:
    random = np.random.default_rng(seed)
    rates = np.sort(random.integers(1, 10**9, 30))[::-1].astype(np.int64)
    need = int(random.integers(1, rates.sum()))
    case = Case(Topics(rates, 0, 30), [list(range(30))], [need])
    lists, _ = selected(case, Rule("exact"))
    best = least_sum(rates.tolist(), need)
    assert need <= surveyed(case).outgoing <= best <= case.rate(lists[0])


@given(cases(), st.lists(st.integers(0, 6), max_size=3), st.randoms())
def test_surveys_add_up_in_any_order(case: Case, cuts: list[int], random: Any) -> None:
    ends = sorted({0, *(min(c, len(case.lists)) for c in cuts), len(case.lists)})
    parts = [surveyed(case, a, b) for a, b in pairwise(ends)]
    random.shuffle(parts)
    whole = numbers(surveyed(case))
    merged = Survey.empty(len(case.topics.rates))
    for part in parts:
        merged.add(part)
    assert numbers(merged) == whole


def test_a_survey_may_be_continued_block_by_block() -> None:
    topics = Topics(np.array([50, 8, 3, 0]), 1, 3)
    case = Case(topics, [[0], [0, 1], [1, 2], [], [3]], [60, 20, 9, 4, 4])
    survey = Survey.empty(4)
    for i in (4, 1, 0, 2, 3):
        survey.add(surveyed(case, i, i + 1))
    assert numbers(survey) == numbers(surveyed(case))
    assert numbers(survey) == {
        "followers": [2, 2, 1, 1],
        "counts": [0, 2, 1, 0],
        "forced": [0, 2, 1, 0],
        "outgoing": 8 + 11,
        "paper": 50 + 20 + 9,
        "modest": 1,
        "unreachable": 2,
        "example": FIRST,
        "needed_rate": 50,
    }


@given(cases())
def test_a_survey_stays_within_its_arrays(case: Case) -> None:
    compiled = numbers(surveyed(case))
    with interpreted(blocks, covering, exact, selection, subset_sums):
        assert numbers(surveyed(case)) == compiled
