"""Surveys of what every selection must do, against counting by hand."""

from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted
from tests.kernels.subscribers import (
    FIRST,
    Case,
    Lists,
    cases,
    least_sum,
    selected,
    surveyed,
)

from brokerwise.kernels import blocks, covering, exact, greedy, selection, subset_sums
from brokerwise.kernels.selection import Rule, Survey, Topics, merged_surveys


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
    parts.append(Survey.empty(len(case.topics.rates)))
    assert numbers(merged_surveys(parts)) == whole


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
    with interpreted(blocks, covering, exact, greedy, selection, subset_sums):
        assert numbers(surveyed(case)) == compiled
