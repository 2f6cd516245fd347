"""Bounds of relaxations, of all plans and of those within limits or beside brokers
that are fixed."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.cases import CASES, Case
from tests.planners.fill.columns.parts import (
    case_of,
    check_patterns,
    limits_for,
    supply_of,
)
from tests.planners.fill.oracle import Topic, most_by_brute_force, worth
from tests.planners.fill.stopping import After
from tests.tiers import examples

from brokerwise.planners.fill.columns.relaxation import Relaxation
from brokerwise.planners.fill.columns.supply import Pattern


@settings(max_examples=examples(120))
@given(case=CASES, data=st.data())
def test_no_plan_within_limits_exceeds_the_bound(
    case: Case, data: st.DataObject
) -> None:
    """One relaxation is solved again and again, as branching does."""
    topics, capacities = case
    found = case_of(case)
    relaxation = Relaxation(
        found.demand, found.demand.pairs, found.supply, found.pricer, found.effort
    )
    offered: list[list[Pattern]] = []

    def offer(patterns: list[Pattern]) -> int:
        offered.append(patterns)
        return -1

    for _ in range(3):
        limits = data.draw(limits_for(len(topics), len(capacities)))
        rounds = data.draw(st.sampled_from([1, 4, 200]))
        trial = data.draw(st.booleans())
        relaxed = relaxation.solve(limits, offer, rounds, trial=trial)
        best = most_by_brute_force(topics, capacities, limits=limits)
        assert best is None or best <= relaxed.bound
    for patterns in offered:
        check_patterns(patterns, topics, found.supply)


@settings(max_examples=examples(120))
@given(case=CASES)
def test_without_limits_the_bound_is_near_the_relaxations_own_value(case: Case) -> None:
    """It would not be if patterns were missing that are worth their price."""
    found = case_of(case)
    relaxed = found.relax([], {})
    near = relaxed.solution.value + 1e-3
    near += found.pricer.grain
    assert relaxed.bound <= max(near, found.best.value)


@st.composite
def beside_fixed(draw: Any) -> tuple[Case, list[Pattern]]:
    """Some brokers that carry what they can of some topics."""
    topics, capacities = draw(CASES)
    supply = supply_of(capacities)
    left = [len(weights) for _, weights in topics]
    fixed = []
    for number in draw(st.lists(st.sampled_from(supply.brokers.tolist()), unique=True)):
        room, entries = int(supply.sizes[number]), []
        for topic in reversed(range(len(topics))):
            rate = topics[topic][0]
            most = min(left[topic], room // rate - 1)
            pairs = draw(st.integers(0, most)) if most > 0 else 0
            if pairs:
                entries.append((topic, pairs))
                left[topic] -= pairs
                room -= rate * (pairs + 1)
        of, pairs_of = np.array(entries, np.int64).reshape(-1, 2).T
        fixed.append(Pattern(number, of, pairs_of))
    return (topics, capacities), fixed


@settings(max_examples=examples(120))
@given(beside=beside_fixed(), split=st.booleans())
def test_beside_fixed_brokers_no_plan_exceeds_the_bound(
    beside: tuple[Case, list[Pattern]], split: bool
) -> None:
    (topics, capacities), fixed = beside
    found = case_of((topics, capacities))
    limits = {} if split else found.unsplit(fixed)
    bound = found.relax(fixed, limits).bound
    taken = [0] * len(topics)
    rooms = list(capacities)
    for pattern in fixed:
        rooms.remove(int(found.supply.sizes[pattern.size]))
        for topic, pairs in pattern.entries():
            taken[topic] += pairs
    rest: list[Topic] = [
        (rate, sorted(weights, reverse=True)[n:])
        for (rate, weights), n in zip(topics, taken, strict=True)
    ]
    already = sum(worth(topic, n) for topic, n in zip(topics, taken, strict=True))
    best = most_by_brute_force(rest, rooms or [0], limits=limits)
    assert best is not None
    assert already + best <= bound
    assert check_patterns(found.best.patterns, topics, found.supply) == found.best.value


@settings(max_examples=examples(60))
@given(case=CASES, questions=st.integers(0, 6))
def test_stopped_it_still_has_a_bound(case: Case, questions: int) -> None:
    found = case_of(case, stop=After(questions))
    best = most_by_brute_force(*case)
    assert best is not None
    assert best <= found.relax([], {}).bound
