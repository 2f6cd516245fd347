"""Every algorithm against brute force and an independent integer program."""

from time import monotonic
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.cases import CASES, Case, check, demand_of
from tests.planners.fill.oracle import Topic, most_by_brute_force, most_by_highs
from tests.planners.fill.stopping import After, little_work
from tests.tiers import examples

from brokerwise.pipeline.trace import RateRange, Uniform, draw_rates, pair_blocks
from brokerwise.planners.fill.columns import pricer
from brokerwise.planners.fill.demand import Demand
from brokerwise.planners.fill.filling import Filling, fill_brokers
from brokerwise.planners.fill.options import ALGORITHMS, BOUNDS, Options


def filled(case: Case, options: Options) -> Filling:
    """Fails if the draft is not possible, or not worth what it says."""
    topics, capacities = case
    filling = fill_brokers(demand_of(topics), np.array(capacities), options)
    assert check(filling.draft, topics, capacities) == filling.value
    assert filling.value <= filling.bound
    return filling


def best(case: Case) -> int:
    found = most_by_brute_force(*case)
    assert found is not None
    return found


@settings(max_examples=examples(300))
@given(case=CASES, seed=st.integers(0, 9))
def test_columns_finds_the_best_there_is_and_proves_it(case: Case, seed: int) -> None:
    filling = filled(case, Options(seed=seed))
    assert filling.value == filling.bound == best(case)
    assert filling.greedy is not None and filling.mkp is not None
    assert filling.value >= max(filling.greedy, filling.mkp)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=examples(50))
@given(case=CASES)
def test_no_plan_exceeds_a_bound(algorithm: str, bound: str, case: Case) -> None:
    filling = filled(case, Options(algorithm, bound))
    assert filling.value <= best(case) <= filling.bound <= filling.bound_paper
    assert not filling.stopped
    assert bound == "certified" or filling.bound == filling.bound_paper


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@settings(max_examples=examples(60))
@given(case=CASES, questions=st.integers(0, 30))
def test_a_search_that_is_stopped_has_a_plan_and_a_bound(
    algorithm: str, case: Case, questions: int
) -> None:
    filling = filled(case, Options(algorithm, stop=After(questions)))
    assert filling.value <= best(case) <= filling.bound
    assert not filling.stopped or filling.value < filling.bound or algorithm == "ilp"
    if algorithm == "columns":
        assert filling.greedy is not None and filling.mkp is not None
        assert filling.value >= max(filling.greedy, filling.mkp)


@settings(max_examples=examples(100))
@given(case=CASES, steps=st.integers(0, 3_000_000))
def test_with_little_work_there_is_a_plan_and_a_bound(case: Case, steps: int) -> None:
    with little_work(steps):
        filling = filled(case, Options())
    assert filling.value <= best(case) <= filling.bound
    assert filling.greedy is not None and filling.mkp is not None
    assert filling.value >= max(filling.greedy, filling.mkp)
    assert not filling.stopped


def random_case(seed: int, brokers: int) -> Case:
    """Larger than brute force can do, and tight."""
    rng = np.random.default_rng(seed)
    weights = [1] if seed % 2 else [1, 2, 5]
    topics: list[Topic] = [
        (int(rate), tuple(rng.choice(weights, pairs).tolist()))
        for rate, pairs in zip(
            rng.integers(1, 13, 9), rng.integers(1, 8, 9), strict=True
        )
    ]
    sizes = rng.integers(24, 60, brokers) if seed % 3 else np.full(brokers, 40)
    return topics, sizes.tolist()


@pytest.mark.parametrize("seed", range(10))
def test_an_independent_integer_program_finds_nothing_better(seed: int) -> None:
    case = random_case(seed, brokers=3)
    filling = filled(case, Options())
    assert filling.value == filling.bound == most_by_highs(*case)


HUGE_TOPIC: Case = ([(3, (1,) * 40), (4, (1, 1))], [30, 30, 18, 7])
ALIKE: Case = ([(4, (1, 1, 1))] * 7, [30, 30, 30])
SMALL_BROKERS: Case = ([(5, (1, 1)), (3, (1,)), (6, (1, 1, 1))], [9, 6, 12, 5])
SPARE_BROKERS: Case = ([(5, (1, 1)), (3, (1,))], [20] * 9)
ONE_BROKER: Case = ([(5, (1, 1)), (3, (1,) * 4), (7, (1, 1)), (4, (2, 1))], [41])
WEIGHTS_APART: Case = ([(9, (1000, 1)), (4, (999, 1, 1)), (5, (1, 1))], [25, 14])


@pytest.mark.parametrize(
    "case",
    [HUGE_TOPIC, ALIKE, SMALL_BROKERS, SPARE_BROKERS, ONE_BROKER, WEIGHTS_APART],
)
def test_odd_shapes_are_solved(case: Case) -> None:
    filling = filled(case, Options())
    assert filling.value == filling.bound == most_by_highs(*case)


def test_a_topic_larger_than_any_broker_is_split() -> None:
    filling = filled(HUGE_TOPIC, Options())
    assert len(set(filling.draft.broker[filling.draft.topic == 0].tolist())) >= 3


# Once too little was found on these: smaller brokers had no patterns of their own, and
# whole solutions of relaxations were not taken for plans.
@pytest.mark.parametrize(
    "case",
    [
        ([(3, (5,) * 4), (9, (5, 5)), (9, (5,) * 4)], [16, 20]),
        ([(1, (1, 1, 1)), (2, (1,)), (3, (1, 1))], [3, 6, 5]),
        ([(2, (1,)), (5, (1, 1, 1))], [10, 10, 10]),
        ([(15, (1, 2, 2, 1))] * 6, [96, 96]),
        ([(1, (1, 1, 1)), (1, (1, 1)), (1, (1,)), (1, (1,) * 6)], [6, 5, 2]),
    ],
)
def test_what_once_was_missed_is_found(case: Case) -> None:
    filling = filled(case, Options())
    assert filling.value == filling.bound == best(case)


def test_numbers_near_the_largest_do_no_harm() -> None:
    """Neither does a fleet that has more bandwidth than fits in 64 bits."""
    case: Case = ([(3, (1,) * 3), (5, (1,) * 4)], [2**62] * 3)
    assert filled(case, Options()).value == 29
    unit = 2**50
    case = ([(3 * unit, (1, 1)), (4 * unit, (1, 1)), (5 * unit, (1,))], [20 * unit] * 2)
    assert filled(case, Options()).value == 19 * unit


def test_nothing_wanted_is_delivered() -> None:
    for algorithm in ALGORITHMS:
        filling = filled(([], [10, 20]), Options(algorithm))
        assert (filling.value, filling.bound) == (0, 0)


def test_brokers_too_large_for_tables_are_left_to_the_heuristics() -> None:
    case = random_case(3, brokers=3)
    with patch.object(pricer, "_CELLS", 9):
        filling = filled(case, Options())
    assert filling.value == max(filling.greedy or 0, filling.mkp or 0)
    assert filling.bound >= most_by_highs(*case)
    assert filling.patterns == 0


def test_the_same_seed_gives_the_same_draft() -> None:
    rng = np.random.default_rng(5)
    demand = Demand.of_counts(rng.integers(8, 20, 40), rng.integers(1, 9, 40))
    with little_work(20_000_000):
        one, other = (
            fill_brokers(demand, np.array([200, 150, 150]), Options(seed=4)).draft
            for _ in range(2)
        )
    for field in ("topic", "broker", "pairs"):
        assert getattr(one, field).tolist() == getattr(other, field).tolist()


def test_fifty_thousand_pairs_are_planned_in_time() -> None:
    trace = Uniform(10_000, subscribers=1_000, each=50, rates=RateRange(1, 19))
    rates, followers = draw_rates(trace, 0), np.zeros(10_000, np.int64)
    for topic, _ in pair_blocks(trace, 0):
        followers += np.bincount(topic, minlength=10_000)
    demand, _ = Demand.of_counts(rates, followers).carried(5_000)
    capacities = np.full(100, 5_000)
    end = monotonic() + 3
    stop = Options(stop=lambda: monotonic() > end)
    filling = fill_brokers(demand, capacities, stop)
    assert filling.greedy is not None and filling.mkp is not None
    assert max(filling.greedy, filling.mkp) <= filling.value <= filling.bound
    assert filling.bound <= filling.bound_paper
    assert (filling.draft.loads(demand, 100) <= capacities).all()
    assert (filling.draft.served(demand) <= demand.followers).all()
    assert filling.draft.value(demand) == filling.value
    assert filling.bound - filling.value <= 0.001 * filling.value
