"""Draws without repeats, against their definition."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.kernels.sampling import Bins, alias_table
from brokerwise.model.arrays import Float64s, Int64s

weights = st.lists(
    st.floats(1e-6, 1e6, allow_nan=False, allow_infinity=False), min_size=1, max_size=30
).map(np.array)


@st.composite
def bins_and_counts(draw: st.DrawFn) -> tuple[Bins, Int64s]:
    """Bins of a few items each, and counts up to all of them."""
    per_bin: Float64s = draw(weights)
    widths = draw(
        st.lists(st.integers(1, 9), min_size=len(per_bin), max_size=len(per_bin))
    )
    starts = np.concatenate([[0], np.cumsum(widths)])
    counts = draw(st.lists(st.integers(0, int(starts[-1])), max_size=20))
    return Bins.of(starts, per_bin), np.array(counts, np.int64)


def lists(bins: Bins, counts: Int64s, seed: int) -> list[list[int]]:
    drawn = bins.draw(counts, seed)
    return [part.tolist() for part in np.split(drawn, np.cumsum(counts))[:-1]]


def chance_of(order: tuple[int, ...], weight: Float64s) -> float:
    """The chance to draw just these, one by one, in this order."""
    left, chance = weight.sum(), 1.0
    for item in order:
        chance *= weight[item] / left
        left -= weight[item]
    return float(chance)


@given(weights)
def test_alias_table_gives_every_bin_its_share(weight: Float64s) -> None:
    keep, other = alias_table(weight)
    share = keep / 2**32
    np.add.at(share, other, 1 - keep / 2**32)
    np.testing.assert_allclose(
        share / len(weight), weight / weight.sum(), rtol=1e-6, atol=1e-9
    )


@given(bins_and_counts(), st.integers(0, 2**63 - 1))
def test_every_list_has_its_length_and_no_repeats(
    case: tuple[Bins, Int64s], seed: int
) -> None:
    bins, counts = case
    drawn = lists(bins, counts, seed)
    assert [len(part) for part in drawn] == counts.tolist()
    for part in drawn:
        assert len(set(part)) == len(part)
        assert set(part) <= set(range(bins.starts[-1]))


@given(bins_and_counts(), st.integers(0, 2**63 - 1))
def test_same_seed_same_draws(case: tuple[Bins, Int64s], seed: int) -> None:
    bins, counts = case
    assert lists(bins, counts, seed) == lists(bins, counts, seed)


def test_seeds_differ() -> None:
    bins, counts = Bins.uniform(1000), np.full(50, 5)
    assert lists(bins, counts, 1) != lists(bins, counts, 2)


# In the second case one item has nearly all the weight: redrawing finds it again and
# again, and the race decides the others.
@pytest.mark.parametrize("weight", [[1.0, 2.0, 3.0, 4.0], [1e6, 1.0, 2.0, 5.0]])
def test_order_of_draws_has_the_law_of_drawing_one_by_one(weight: list[float]) -> None:
    runs, array = 60_000, np.array(weight)
    bins = Bins.of(np.arange(5), array)
    seen = Counter(map(tuple, lists(bins, np.full(runs, 3), seed=11)))
    orders = list(permutations(range(4), 3))
    assert set(seen) <= set(orders)
    for order in orders:
        expected = runs * chance_of(order, array)
        assert abs(seen[order] - expected) < 5 * np.sqrt(expected + 1), order


def test_items_of_a_bin_are_equally_likely() -> None:
    bins = Bins.of(np.array([0, 1, 1000]), np.array([999.0, 1.0]))
    drawn = bins.draw(np.ones(400_000, np.int64), 5)
    seen = np.bincount(drawn, minlength=1000)
    assert abs(seen[0] - 200_000) < 5 * np.sqrt(100_000)
    chi_square = ((seen[1:] - 200.2) ** 2 / 200.2).sum()
    assert abs(chi_square - 998) < 5 * np.sqrt(2 * 998)


def test_a_list_may_take_all_items_of_many() -> None:
    bins = Bins.of(np.arange(5001), 1.0 / np.arange(1, 5001) ** 2)
    assert sorted(lists(bins, np.array([5000]), 3)[0]) == list(range(5000))
