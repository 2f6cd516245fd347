"""A total bandwidth that is split over brokers of up to a size."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planners.fill.cases import FEW_TOPICS, check, demand_of, scaled
from tests.planners.fill.oracle import Topic, most_by_splitting
from tests.planners.fill.stopping import After, little_work
from tests.tiers import examples

from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import Bandwidth
from brokerwise.planners.fill.columns import pricer, search
from brokerwise.planners.fill.demand import Demand
from brokerwise.planners.fill.filling import Filling
from brokerwise.planners.fill.options import BOUNDS, Options
from brokerwise.planners.fill.splitting import split_bandwidth

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


def best(split: Split) -> int:
    topics, bandwidth = split
    return most_by_splitting(topics, bandwidth.total, bandwidth.max_broker)


@settings(max_examples=examples(150))
@given(split=SPLITS, seed=st.integers(0, 3))
def test_columns_finds_the_best_split_there_is(split: Split, seed: int) -> None:
    filling, _ = split_up(split, Options(seed=seed))
    assert filling.value == best(split) <= filling.bound
    assert filling.greedy is not None and filling.mkp is not None
    assert filling.value >= max(filling.greedy, filling.mkp)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("algorithm", SPLITTERS)
@settings(max_examples=examples(40))
@given(split=SPLITS)
def test_no_split_exceeds_a_bound(algorithm: str, bound: str, split: Split) -> None:
    filling, _ = split_up(split, Options(algorithm, bound))
    assert filling.value <= best(split) <= filling.bound <= filling.bound_paper
    assert bound == "certified" or filling.bound == filling.bound_paper


@settings(max_examples=examples(60))
@given(split=SPLITS, questions=st.integers(0, 40), steps=st.integers(0, 2_000_000))
def test_a_search_that_ends_early_has_a_split_and_a_bound(
    split: Split, questions: int, steps: int
) -> None:
    stopped, _ = split_up(split, Options(stop=After(questions)))
    with little_work(steps):
        short, _ = split_up(split, Options())
    for filling in (stopped, short):
        assert filling.value <= best(split) <= filling.bound
        assert filling.greedy is not None and filling.mkp is not None
        assert filling.value >= max(filling.greedy, filling.mkp)


@settings(max_examples=examples(40))
@given(split=SPLITS)
def test_patterns_may_be_combined_at_any_time(split: Split) -> None:
    with patch.object(search, "_PATTERNS", 0), patch.object(search, "_PATIENCE", 1):
        filling, _ = split_up(split, Options())
    assert filling.value == best(split) <= filling.bound


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
def test_brokers_too_large_for_tables_are_left_to_the_heuristics(bound: str) -> None:
    split: Split = ([(5, (1, 1)), (3, (1, 1, 1)), (4, (2,))], Bandwidth(30, 17))
    with patch.object(pricer, "_CELLS", 9):
        filling, _ = split_up(split, Options(bound=bound))
    assert filling.value == max(filling.greedy or 0, filling.mkp or 0)
    assert best(split) <= filling.bound
    assert bound == "certified" or filling.bound == filling.bound_paper


def test_the_integer_program_cannot_split() -> None:
    with pytest.raises(InputError, match="'ilp', which cannot split"):
        split_bandwidth(demand_of([(1, (1,))]), Bandwidth(9, 4), Options("ilp"))


def test_a_larger_one_ends_within_its_bound_and_the_same_every_time() -> None:
    rng = np.random.default_rng(3)
    demand = Demand.of_counts(rng.integers(4, 20, 30), rng.integers(1, 9, 30))
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
