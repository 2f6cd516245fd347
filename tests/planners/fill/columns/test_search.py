"""Searches over patterns: dives, branching, combining."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.cases import CASES, Case, demand_of
from tests.planners.fill.columns.parts import (
    ENOUGH,
    HARD,
    best_of_hard,
    case_of,
    check_patterns,
    supply_of,
)
from tests.planners.fill.oracle import most_by_brute_force, worth
from tests.planners.fill.stopping import After
from tests.tiers import examples

from brokerwise.planners.control import never
from brokerwise.planners.fill.columns import search
from brokerwise.planners.fill.columns import search as module
from brokerwise.planners.fill.columns.master import Master
from brokerwise.planners.fill.columns.relaxation import served
from brokerwise.planners.fill.columns.search import (
    Branching,
    combine,
    dive,
    search_nearby,
)
from brokerwise.planners.fill.columns.supply import Pattern
from brokerwise.planners.fill.filling import HEURISTICS


def plan_of(case: Case, name: str) -> list[Pattern]:
    """What a heuristic puts on each broker."""
    topics, capacities = case
    draft = HEURISTICS[name](demand_of(topics), np.array(capacities))
    sizes = supply_of(capacities).sizes.tolist()
    found = []
    for broker, capacity in enumerate(capacities):
        of = np.flatnonzero(draft.broker == broker)
        of = of[np.argsort(-draft.topic[of])]
        number = sizes.index(capacity)
        found.append(Pattern(number, draft.topic[of].astype(np.int64), draft.pairs[of]))
    return found


@settings(max_examples=examples(60))
@given(case=CASES, questions=st.none() | st.integers(0, 3), asks=st.integers(0, 50))
def test_it_ends_with_no_plan_that_is_worse(
    case: Case, questions: int | None, asks: int
) -> None:
    topics, capacities = case
    found = case_of(case, stop=never if questions is None else After(questions))
    before = found.best.offer(plan_of(case, "greedy"))
    relaxed = found.relax([], {})
    combine(found, relaxed.patterns, asks)
    best = most_by_brute_force(topics, capacities)
    assert best is not None
    assert before <= found.best.value <= best
    assert check_patterns(found.best.patterns, topics, found.supply) == found.best.value


@settings(max_examples=examples(40))
@given(case=CASES)
def test_choosing_begins_from_a_plan(case: Case) -> None:
    topics, capacities = case
    begin = plan_of(case, "greedy")
    demand = demand_of(topics)
    master = Master(demand, demand.pairs, supply_of(capacities))
    known = [p for p in [*begin, *plan_of(case, "mkp")] if len(p.topic)]
    master.add(known)
    shares = master.choose(begin, 1000, never)
    assert shares is not None
    chosen = [p for p, n in zip(master.patterns, shares, strict=True) for _ in range(n)]

    def value(patterns: list[Pattern]) -> int:
        numbers = served(patterns, len(topics)).tolist()
        return sum(worth(t, n) for t, n in zip(topics, numbers, strict=True))

    assert value(chosen) >= value(begin)


def test_the_best_combination_is_found() -> None:
    """Each of two plans has one good broker; together they are the best plan."""
    case: Case = ([(5, (1, 1)), (3, (1, 1, 1)), (1, (1,))], [15, 12])
    found = case_of(case)
    good, poor = Pattern(0, np.array([0]), np.array([2])), np.array([1])
    found.best.offer([good, Pattern(1, np.array([2]), poor)])
    assert found.best.value == 11
    combine(found, [Pattern(1, np.array([1]), np.array([3]))], 1000)
    assert found.best.value == 19


@settings(max_examples=examples(150))
@given(
    case=CASES,
    questions=st.none() | st.integers(0, 40),
    tried=st.sampled_from([1, 12]),
)
def test_the_bound_falls_and_never_below_the_best(
    case: Case, questions: int | None, tried: int
) -> None:
    topics, capacities = case
    best = most_by_brute_force(topics, capacities)
    assert best is not None
    stop = never if questions is None else After(questions)
    found = case_of(case, work=ENOUGH, stop=stop)
    root = found.relax([], {})
    found.bound = min(found.bound, root.bound)
    branching = Branching(found, root)
    with patch.object(module, "_TRIED", tried):
        for _ in range(200):
            before = found.bound
            more = branching.advance()
            assert best <= found.bound <= before
            assert found.best.value <= best
            if not more:
                break
    assert check_patterns(found.best.patterns, topics, found.supply) == found.best.value


@pytest.mark.parametrize("questions", [*range(0, 60, 4), 100, 200, 400, 800])
def test_wherever_it_is_stopped_the_bound_holds(questions: int) -> None:
    topics, _ = HARD
    found = case_of(HARD, stop=After(questions))
    root = found.relax([], {})
    found.bound = min(found.bound, root.bound)
    branching = Branching(found, root)
    for _ in range(40):
        if not branching.advance():
            break
    assert found.best.value <= best_of_hard() <= found.bound
    assert check_patterns(found.best.patterns, topics, found.supply) == found.best.value


def test_it_ends_where_bound_and_plan_meet() -> None:
    topics = [(4, (1, 1, 1))] * 5 + [(7, (1, 1)), (3, (1, 1, 1, 1))]
    capacities = [25, 25, 25]
    found = case_of((list(topics), capacities))
    root = found.relax([], {})
    branching = Branching(found, root)
    steps = 0
    while branching.advance():
        steps += 1
        assert steps < 2000
    assert not branching.advance()
    assert found.best.value <= found.bound


@settings(max_examples=examples(60))
@given(case=CASES, questions=st.integers(0, 200), seed=st.integers(0, 3))
def test_it_may_end_anywhere(case: Case, questions: int, seed: int) -> None:
    topics, capacities = case
    best = most_by_brute_force(topics, capacities)
    assert best is not None
    found = case_of(case, stop=After(questions))
    search.search(found, [], seed)
    assert found.best.value <= best <= found.bound
    assert check_patterns(found.best.patterns, topics, found.supply) == max(
        0, found.best.value
    )


@pytest.mark.parametrize("left_out", ["dive", "combine", None])
@settings(max_examples=examples(40))
@given(case=CASES)
def test_it_finds_the_best_from_nothing(left_out: str | None, case: Case) -> None:
    best = most_by_brute_force(*case)
    found = case_of(case)
    if left_out is None:
        search.search(found, [], 0)
    else:
        with patch.object(search, left_out, lambda *_, **__: []):
            search.search(found, [], 0)
    assert best is not None
    assert found.best.value == best <= found.bound


@pytest.mark.parametrize("seed", range(3))
def test_patterns_may_be_combined_at_any_time(seed: int) -> None:
    topics, _ = HARD
    found = case_of(HARD, work=100_000_000)
    with patch.object(search, "_PATTERNS", 0), patch.object(search, "_PATIENCE", 1):
        search.search(found, [], seed)
    assert found.best.value <= best_of_hard() <= found.bound
    assert check_patterns(found.best.patterns, topics, found.supply) == found.best.value


def test_where_nothing_is_left_to_split_it_goes_on_nearby() -> None:
    topics, _ = HARD
    found = case_of(HARD)
    with (
        patch.object(Branching, "advance", lambda _: False),
        patch.object(search, "_PATIENCE", 2),
    ):
        search.search(found, [], 0)
    assert found.best.value <= best_of_hard() <= found.bound
    assert check_patterns(found.best.patterns, topics, found.supply) == found.best.value


@pytest.mark.parametrize("split", [True, False])
@settings(max_examples=examples(60))
@given(case=CASES, seed=st.none() | st.integers(0, 5), kept=st.sampled_from([1, 300]))
def test_a_dive_ends_with_a_plan(
    split: bool, case: Case, seed: int | None, kept: int
) -> None:
    topics, capacities = case
    best = most_by_brute_force(topics, capacities)
    found = case_of(case)
    random = None if seed is None else np.random.default_rng(seed)
    with patch.object(search, "_KEPT", kept):
        dive(found, [], [], split=split, random=random)
    assert best is not None
    assert 0 < found.best.value <= best
    assert check_patterns(found.best.patterns, topics, found.supply) == found.best.value


@settings(max_examples=examples(60))
@given(case=CASES, brokers=st.integers(1, 4), split=st.booleans())
def test_a_search_nearby_never_makes_it_worse(
    case: Case, brokers: int, split: bool
) -> None:
    topics, _ = case
    found = case_of(case)
    found.relax([], {})
    before = found.best.value
    better = search_nearby(found, brokers, np.random.default_rng(1), split=split)
    assert better == (found.best.value > before)
    assert found.best.value >= before
    assert check_patterns(found.best.patterns, topics, found.supply) == found.best.value
