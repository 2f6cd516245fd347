"""Link costs in thousandths, and what brokers' links must obey."""

from fractions import Fraction
from itertools import product
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.errors import InputError
from brokerwise.model.metric import (
    Detour,
    check_core,
    cost_units,
    distances,
    shorter_detour,
    shortest_paths,
)
from brokerwise.model.names import Names

MILLIONTHS = st.integers(0, 10**9)


@st.composite
def core_costs(draw: st.DrawFn) -> Any:
    """Costs between up to 6 brokers, the same both ways."""
    count = draw(st.integers(0, 6))
    costs = np.zeros((count, count), np.int64)
    for a in range(count):
        for b in range(a):
            costs[a, b] = costs[b, a] = draw(st.integers(0, 20))
    return costs


def detours(core: Any) -> list[tuple[int, int, int, int]]:
    """How much each way by a third broker saves, with the three brokers."""
    numbers = range(len(core))
    return [
        (int(core[a, b] - core[a, by] - core[by, b]), a, by, b)
        for a, by, b in product(numbers, numbers, numbers)
    ]


@given(st.lists(MILLIONTHS))
def test_costs_are_rounded_up_to_thousandths(millionths: list[int]) -> None:
    found = cost_units([value / 10**6 for value in millionths])
    assert found.tolist() == [ceil(Fraction(value, 1000)) for value in millionths]


@pytest.mark.parametrize(
    ("cost", "units"),
    [
        (0, 0),
        (-0.0, 0),
        (1, 1000),
        (0.1 + 0.2, 300),
        (0.3, 300),
        (1.001, 1001),
        (0.0001, 1),
        (2_000_000, 2 * 10**9),
        (999_999_999.001, 999_999_999_001),
        (1e9, 10**12),
    ],
)
def test_a_cost_that_a_number_only_almost_is_counts_as_it(
    cost: float, units: int
) -> None:
    assert cost_units(cost) == units


@given(MILLIONTHS, MILLIONTHS, st.integers(0, 2 * 10**9))
def test_rounding_up_keeps_the_triangle_inequality(one: int, two: int, by: int) -> None:
    longest = min(by, one + two)
    parts = cost_units(np.array([one, two, longest]) / 10**6)
    assert parts[2] <= parts[0] + parts[1]


@given(st.data(), st.integers(1, 3), st.integers(0, 4), st.integers(0, 4))
def test_distances_are_euclidean(
    data: st.DataObject, dimensions: int, many: int, more: int
) -> None:
    def points(count: int) -> Any:
        coordinate = st.integers(-100, 100)
        rows = st.lists(coordinate, min_size=dimensions, max_size=dimensions)
        drawn = data.draw(st.lists(rows, min_size=count, max_size=count))
        return np.array(drawn, float).reshape(count, dimensions)

    a, b = points(many), points(more)
    expected = [
        [ceil(round(1000 * float(np.linalg.norm(p - q)), 6)) for q in b] for p in a
    ]
    assert distances(a, b).tolist() == expected
    assert distances(a, b).shape == (many, more)


@given(st.lists(st.floats(0, 1000), min_size=3, max_size=3))
def test_distances_on_a_line_are_a_metric_within_a_thousandth(at: list[float]) -> None:
    points = np.array(at)[:, None]
    core = distances(points, points)
    assert max(detours(core))[0] <= 1
    mended = shortest_paths(core)
    check_core(mended)
    assert (core - mended).max() <= 1


@given(core_costs())
def test_the_worst_detour_is_found(core: Any) -> None:
    found, ways = shorter_detour(core), detours(core)
    worst = max(ways, default=(0, 0, 0, 0))[0]
    if found is None:
        assert worst <= 0
        return
    a, by, b = found.a, found.by, found.b
    assert (worst, a, by, b) in ways
    assert found.link == core[a, b]
    assert found.detour == core[a, by] + core[by, b] == found.link - worst


@given(core_costs())
def test_shortest_paths_are_the_cheapest_ways(core: Any) -> None:
    before, found = core.copy(), shortest_paths(core)
    expected = before.copy()
    for _ in range(len(core)):  # a step further each time: Bellman and Ford
        steps = expected[:, :, None] + before[None, :, :]
        expected = np.minimum(expected, steps.min(axis=1, initial=10**9))
    assert np.array_equal(found, expected)
    assert np.array_equal(core, before)
    check_core(found)
    if shorter_detour(core) is None:
        assert np.array_equal(found, core)


@given(core_costs())
def test_costs_are_refused_if_and_only_if_a_detour_is_shorter(core: Any) -> None:
    if shorter_detour(core) is None:
        check_core(core)
    else:
        with pytest.raises(InputError, match="the triangle inequality does not hold"):
            check_core(core)


@pytest.mark.parametrize(
    ("core", "message"),
    [
        (
            [[0, 2], [2, 500]],
            "core costs: broker 1 to itself costs 0.5, expected 0",
        ),
        (
            [[0, 2000], [2500, 0]],
            "core costs: broker 0 to broker 1 costs 2, back 2.5, "
            "expected the same both ways",
        ),
        (
            [[0, 1000, 3001], [1000, 0, 2000], [3001, 2000, 0]],
            "core costs: broker 0 to broker 2 costs 3.001, but by broker 1 only 3: "
            "the triangle inequality does not hold",
        ),
    ],
)
def test_costs_that_are_no_metric_are_refused_with_numbers(
    core: Any, message: str
) -> None:
    with pytest.raises(InputError) as refused:
        check_core(np.array(core))
    assert refused.value.message == message


def test_brokers_are_called_by_their_names() -> None:
    with pytest.raises(InputError, match="'lyon' to 'oslo' costs 1, back 2, expected"):
        check_core(np.array([[0, 1000], [2000, 0]]), Names.of(["lyon", "oslo"]))


def test_no_broker_and_one_broker_are_a_metric() -> None:
    check_core(np.zeros((0, 0), np.int64))
    check_core(np.zeros((1, 1), np.int64))
    assert shorter_detour(np.zeros((0, 0), np.int64)) is None


def test_a_detour_is_named_with_its_costs() -> None:
    core = np.array([[0, 1, 9], [1, 0, 2], [9, 2, 0]])
    assert shorter_detour(core) == Detour(a=0, by=1, b=2, link=9, detour=3)
