"""Heuristics, bounds, brokers that are filled and bandwidth that is split."""

from time import monotonic
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.cases import (
    CASES,
    FEW_TOPICS,
    Case,
    check,
    demand_of,
    demand_of_counts,
    scaled,
)
from tests.planners.fill.oracle import (
    Topic,
    most_by_brute_force,
    most_by_highs,
    most_by_splitting,
)
from tests.planners.fill.stopping import After, little_work
from tests.tiers import examples

from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Bandwidth
from brokerwise.pipeline.trace import RateRange, Uniform, draw_rates, pair_blocks
from brokerwise.planners.fill import filling
from brokerwise.planners.fill.columns import pricer, search
from brokerwise.planners.fill.filling import (
    HEURISTICS,
    Filling,
    fill_brokers,
    merged_bound,
    paper_bound,
    quick_bound,
    split_bandwidth,
)
from brokerwise.planners.fill.problem import ALGORITHMS, BOUNDS, Options


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


@settings(max_examples=examples(200))
@given(case=CASES)
def test_no_plan_exceeds_a_quick_bound(case: Case) -> None:
    topics, capacities = case
    best = most_by_brute_force(topics, capacities)
    demand, bandwidth = demand_of(topics), sum(capacities)
    assert best is not None
    assert best <= paper_bound(demand, bandwidth)
    assert best <= quick_bound(demand, bandwidth, max(capacities))
    assert best <= merged_bound(demand, bandwidth, max(capacities))


@settings(max_examples=examples(60))
@given(
    topics=FEW_TOPICS,
    total=st.integers(4, 20),
    largest=st.integers(4, 20),
)
def test_no_split_exceeds_a_quick_bound(
    topics: list[Topic], total: int, largest: int
) -> None:
    size = min(total, largest)
    fitting = [topic for topic in topics if 2 * topic[0] <= size]
    best = most_by_splitting(fitting, total, largest)
    demand = demand_of(fitting)
    assert best <= paper_bound(demand, total)
    assert best <= merged_bound(demand, total, size)


@given(
    topics=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=6),
    bandwidth=st.integers(1, 400),
)
def test_without_weights_the_papers_bound_is_bandwidth_or_all_that_is_wanted(
    topics: list[tuple[int, int]], bandwidth: int
) -> None:
    rates, followers = np.array(topics, np.int64).reshape(-1, 2).T.copy()
    wanted = int(rates @ followers)
    found = paper_bound(demand_of_counts(rates, followers), bandwidth)
    assert found == min(bandwidth, wanted)


@given(case=CASES)
def test_one_broker_is_bounded_exactly_by_merging(case: Case) -> None:
    topics, (capacity, *_) = case
    topics = [topic for topic in topics if 2 * topic[0] <= capacity]
    best = most_by_brute_force(topics, [capacity])
    assert merged_bound(demand_of(topics), capacity, capacity) == best


@given(case=CASES)
def test_merging_is_never_looser_than_the_quick_bound(case: Case) -> None:
    topics, capacities = case
    arguments = (demand_of(topics), sum(capacities), max(capacities))
    merged, quick = merged_bound(*arguments), quick_bound(*arguments)
    assert merged <= quick
    for limit in ("_STEPS", "_LARGEST"):
        with patch.object(filling, limit, 0):
            assert merged_bound(*arguments) == quick


def test_a_set_up_for_every_broker_is_counted() -> None:
    """Two pairs of rate 10 need 40 of brokers that hold one pair, and 30 of others."""
    demand = demand_of_counts(np.array([10]), np.array([4]))
    assert quick_bound(demand, 40, 20) == 20
    assert quick_bound(demand, 40, 40) == 30
    assert paper_bound(demand, 40) == 40


def test_a_bound_is_a_number_that_values_add_up_to() -> None:
    demand = demand_of_counts(np.array([6, 10]), np.array([5, 5]))
    assert quick_bound(demand, 39, 39) % 2 == 0


@pytest.mark.parametrize("bound", [quick_bound, merged_bound])
def test_where_nothing_is_wanted_nothing_is_the_bound(bound: object) -> None:
    nothing = demand_of_counts(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert callable(bound)
    assert bound(nothing, 100, 10) == 0
    assert paper_bound(nothing, 100) == 0


def test_numbers_near_the_largest_do_bounds_no_harm() -> None:
    demand = demand_of_counts(np.array([2**60]), np.array([5]))
    assert paper_bound(demand, 2**63 - 1) == 5 * 2**60
    assert quick_bound(demand, 2**63 - 1, 2**63 - 1) == 5 * 2**60
    assert quick_bound(demand, 2**62, 2**62) >= 3 * 2**60


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
    demand = demand_of_counts(rng.integers(8, 20, 40), rng.integers(1, 9, 40))
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
    demand, _ = demand_of_counts(rates, followers).carried(5_000)
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


SPLITTERS = ["greedy", "mkp", "columns"]
Split = tuple[list[Topic], Bandwidth]


def fitting(topics: list[Topic], bandwidth: Bandwidth) -> Split:
    largest = min(bandwidth.total, bandwidth.max_broker)
    return [topic for topic in topics if 2 * topic[0] <= largest], bandwidth


BANDWIDTHS = st.builds(Bandwidth, st.integers(2, 22), st.integers(2, 22))
SPLITS = st.builds(
    fitting,
    FEW_TOPICS | st.builds(scaled, FEW_TOPICS, st.just(2)),
    BANDWIDTHS,
).filter(lambda split: bool(split[0]))


def split_up(split: Split, options: Options) -> tuple[Filling, Int64s]:
    """Fails if the brokers are too many or too large, or carry what they cannot."""
    topics, bandwidth = split
    filling, sizes = split_bandwidth(demand_of(topics), bandwidth, options)
    assert sizes.min() > 0
    assert sizes.max() <= bandwidth.max_broker
    assert sizes.sum() <= bandwidth.total
    assert check(filling.draft, topics, sizes.tolist()) == filling.value
    assert filling.value <= filling.bound
    return filling, sizes


def best_split(split: Split) -> int:
    topics, bandwidth = split
    return most_by_splitting(topics, bandwidth.total, bandwidth.max_broker)


@settings(max_examples=examples(150))
@given(split=SPLITS, seed=st.integers(0, 3))
def test_columns_finds_the_best_split_there_is(split: Split, seed: int) -> None:
    filling, _ = split_up(split, Options(seed=seed))
    assert filling.value == best_split(split) <= filling.bound
    assert filling.greedy is not None and filling.mkp is not None
    assert filling.value >= max(filling.greedy, filling.mkp)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("algorithm", SPLITTERS)
@settings(max_examples=examples(40))
@given(split=SPLITS)
def test_no_split_exceeds_a_bound(algorithm: str, bound: str, split: Split) -> None:
    filling, _ = split_up(split, Options(algorithm, bound))
    assert filling.value <= best_split(split) <= filling.bound <= filling.bound_paper
    assert bound == "certified" or filling.bound == filling.bound_paper


@settings(max_examples=examples(60))
@given(split=SPLITS, questions=st.integers(0, 40), steps=st.integers(0, 2_000_000))
def test_a_search_that_ends_early_has_a_split_and_a_bound(
    split: Split, questions: int, steps: int
) -> None:
    stopped, _ = split_up(split, Options(stop=After(questions)))
    with little_work(steps):
        short, _ = split_up(split, Options())
    for found in (stopped, short):
        assert found.value <= best_split(split) <= found.bound
        assert found.greedy is not None and found.mkp is not None
        assert found.value >= max(found.greedy, found.mkp)


@settings(max_examples=examples(40))
@given(split=SPLITS)
def test_patterns_may_be_combined_at_any_time(split: Split) -> None:
    with patch.object(search, "_PATTERNS", 0), patch.object(search, "_PATIENCE", 1):
        filling, _ = split_up(split, Options())
    assert filling.value == best_split(split) <= filling.bound


def test_one_broker_is_best_where_it_may_be_large_enough() -> None:
    split: Split = ([(5, (1,) * 9)], Bandwidth(50, 100))
    filling, sizes = split_up(split, Options())
    assert (filling.value, sizes.tolist()) == (45, [50])


def test_brokers_that_nobody_needs_are_not_made() -> None:
    split: Split = ([(5, (1,) * 3)], Bandwidth(10**9, 10))
    filling, sizes = split_up(split, Options())
    assert (filling.value, sizes.tolist()) == (15, [10, 10, 10])


def test_where_nothing_fits_there_is_one_idle_broker() -> None:
    for algorithm in SPLITTERS:
        filling, sizes = split_bandwidth(
            demand_of([]), Bandwidth(9, 4), Options(algorithm)
        )
        assert (filling.value, filling.bound, sizes.tolist()) == (0, 0, [4])


@pytest.mark.parametrize("bound", BOUNDS)
def test_bandwidth_too_large_for_tables_is_left_to_the_heuristics(bound: str) -> None:
    split: Split = ([(5, (1, 1)), (3, (1, 1, 1)), (4, (2,))], Bandwidth(30, 17))
    with patch.object(pricer, "_CELLS", 9):
        filling, _ = split_up(split, Options(bound=bound))
    assert filling.value == max(filling.greedy or 0, filling.mkp or 0)
    assert best_split(split) <= filling.bound
    assert bound == "certified" or filling.bound == filling.bound_paper


def test_the_integer_program_cannot_split() -> None:
    with pytest.raises(InputError, match="'ilp', which cannot split"):
        split_bandwidth(demand_of([(1, (1,))]), Bandwidth(9, 4), Options("ilp"))


def test_a_larger_one_ends_within_its_bound_and_the_same_every_time() -> None:
    rng = np.random.default_rng(3)
    demand = demand_of_counts(rng.integers(4, 20, 30), rng.integers(1, 9, 30))
    found = []
    for _ in range(2):
        with little_work(60_000_000):
            found.append(split_bandwidth(demand, Bandwidth(700, 150), Options()))
    (one, sizes), (other, again) = found
    assert sizes.tolist() == again.tolist()
    assert one.draft.topic.tolist() == other.draft.topic.tolist()
    assert one.draft.pairs.tolist() == other.draft.pairs.tolist()
    assert sizes.sum() <= 700 and sizes.max() <= 150
    assert (one.draft.loads(demand, len(sizes)) <= sizes).all()
    assert max(one.greedy or 0, one.mkp or 0) <= one.value <= one.bound <= 700
