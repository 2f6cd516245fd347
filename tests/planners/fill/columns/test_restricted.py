"""Plans put together from patterns that are known."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.cases import CASES, Case, demand_of
from tests.planners.fill.columns.parts import case_of, check_patterns, supply_of
from tests.planners.fill.oracle import most_by_brute_force, worth
from tests.planners.fill.stopping import After
from tests.tiers import examples

from brokerwise.planners.control import never
from brokerwise.planners.fill.columns.incumbent import served
from brokerwise.planners.fill.columns.master import Master
from brokerwise.planners.fill.columns.restricted import combine
from brokerwise.planners.fill.columns.supply import Pattern
from brokerwise.planners.fill.heuristics import HEURISTICS


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
