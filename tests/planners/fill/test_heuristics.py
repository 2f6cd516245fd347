"""The heuristics of the paper as planners: what they guarantee of any answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from tests.planners.fill.cases import CASES, Case, check, demand_of
from tests.planners.fill.oracle import most_by_brute_force
from tests.tiers import examples

from brokerwise.planners.fill.heuristics import HEURISTICS


@pytest.mark.parametrize("name", HEURISTICS)
@settings(max_examples=examples(150))
@given(case=CASES)
def test_drafts_are_possible_and_never_beat_the_best(name: str, case: Case) -> None:
    topics, capacities = case
    demand = demand_of(topics)
    draft = HEURISTICS[name](demand, np.array(capacities))
    value = check(draft, topics, capacities)
    assert value == draft.value(demand)
    best = most_by_brute_force(topics, capacities)
    assert best is not None and value <= best


@pytest.mark.parametrize("name", HEURISTICS)
@given(case=CASES)
def test_nothing_more_fits_afterwards(name: str, case: Case) -> None:
    topics, capacities = case
    draft = HEURISTICS[name](demand_of(topics), np.array(capacities))
    rooms = list(capacities)
    left = [len(weights) for _, weights in topics]
    on = set()
    for t, b, n in zip(draft.topic, draft.broker, draft.pairs, strict=True):
        rooms[b] -= topics[t][0] * (int(n) + 1)
        left[t] -= int(n)
        on.add((int(t), int(b)))
    for t, (rate, _) in enumerate(topics):
        for b, room in enumerate(rooms):
            assert not left[t] or room < (rate if (t, b) in on else 2 * rate)
