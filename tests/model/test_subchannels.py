"""The content space and its grid, against cells that are gone through one by one."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model import subchannels
from brokerwise.model.errors import InputError
from brokerwise.model.subchannels import Axis, Subchannels

HALVES = st.integers(-2, 14).map(lambda number: number / 2)


@st.composite
def grids(draw: st.DrawFn) -> Subchannels:
    """Up to three attributes, cut at whole numbers from 0 to 6."""
    axes = []
    for name in "abc"[: draw(st.integers(1, 3))]:
        edges = draw(st.sets(st.integers(0, 6), min_size=2, max_size=4))
        axes.append(Axis(name, tuple(sorted(edges))))
    return Subchannels(tuple(axes))


def inside(axis: Axis, interval: int, value: float) -> bool:
    low, high = axis.edges[interval], axis.edges[interval + 1]
    last = interval == axis.intervals - 1
    return low <= value < high or (last and value == high)


def cells(grid: Subchannels) -> list[tuple[int, ...]]:
    """All cells in their order: the last attribute runs fastest."""
    return list(product(*(range(axis.intervals) for axis in grid.axes)))


def literal_cell(grid: Subchannels, point: Any) -> int:
    """The number of the one cell that a point is in, or -1."""
    found = [
        number
        for number, cell in enumerate(cells(grid))
        if all(map(inside, grid.axes, cell, point))
    ]
    assert len(found) <= 1
    return found[0] if found else -1


@given(grids(), st.data())
def test_each_point_is_in_one_sub_channel_or_outside(
    grid: Subchannels, data: st.DataObject
) -> None:
    point = st.tuples(*(HALVES for _ in grid.axes))
    points = data.draw(st.lists(point, max_size=8))
    found = grid.of_points(np.array(points, float).reshape(-1, len(grid.axes)))
    assert found.dtype == np.int32
    assert found.tolist() == [literal_cell(grid, point) for point in points]


@given(grids(), st.data())
def test_a_box_touches_the_sub_channels_of_its_points(
    grid: Subchannels, data: st.DataObject
) -> None:
    ends = [
        sorted(data.draw(st.tuples(*[_within(axis)] * 2)), key=float)
        for axis in grid.axes
    ]
    low, high = (np.array(side, float) for side in zip(*ends, strict=True))
    # Edges are whole: halves between the ends meet every cell that the box does.
    steps = [np.arange(a, b + 0.25, 0.5) for a, b in ends]
    expected = {literal_cell(grid, point) for point in product(*steps)}
    found = grid.touched(low, high)
    assert found.dtype == np.int32
    assert found.tolist() == sorted(expected)


def _within(axis: Axis) -> st.SearchStrategy[float]:
    least, most = int(axis.edges[0] * 2), int(axis.edges[-1] * 2)
    return st.integers(least, most).map(lambda number: number / 2)


def test_a_number_that_is_none_is_outside() -> None:
    grid = Subchannels.equal_width(["a"], 0, 4, 4)
    assert grid.of_points(np.array([[np.nan], [np.inf], [-np.inf]])).tolist() == [
        *(-1, -1, -1)
    ]


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (2.0, 1.0, "2 to 1"),
        (-0.5, 1.0, "-0.5 to 1"),
        (0.0, 4.5, "0 to 4.5"),
        (np.nan, 1.0, "nan to 1"),
        (0.0, np.nan, "0 to nan"),
        (5.0, 6.0, "5 to 6"),
    ],
)
def test_a_box_that_is_not_within_the_space_is_refused(
    low: float, high: float, found: str
) -> None:
    grid = Subchannels((Axis("size", (0, 9)), Axis("price", (0, 1, 4))))
    with pytest.raises(InputError) as refused:
        grid.touched(np.array([0, low]), np.array([9, high]))
    assert refused.value.message == (
        f"range of 'price': found {found}, expected within 0 to 4"
    )


def test_a_box_may_be_one_point() -> None:
    grid = Subchannels.equal_width(["a", "b"], 0, 4, 4)
    for corner in (0.0, 2.0, 4.0):
        point = np.array([corner, corner])
        assert (
            grid.touched(point, point).tolist() == grid.of_points(point[None]).tolist()
        )


def test_intervals_of_equal_width_are_cut_for_each_attribute() -> None:
    grid = Subchannels.equal_width(["a", "b"], -1, 1, 4)
    edges = (-1.0, -0.5, 0.0, 0.5, 1.0)
    assert grid == Subchannels((Axis("a", edges), Axis("b", edges)))
    assert grid.shape == (4, 4)
    assert len(grid) == 16


@pytest.mark.parametrize(
    ("edges", "found"),
    [
        ((), "none"),
        ((1,), "1"),
        ((1.5, 1.5), "1.5, 1.5"),
        ((2, 1), "2, 1"),
        ((0, 1, 1), "0, 1, 1"),
        ((0, np.inf), "0, inf"),
        ((np.nan, 1), "nan, 1"),
        ((*range(100_000), 0), "0, 1, 2, 3, 4, 5, 6, 7, ..."),
    ],
)
def test_edges_that_do_not_rise_are_refused(
    edges: tuple[float, ...], found: str
) -> None:
    with pytest.raises(InputError) as refused:
        Axis("price", edges)
    assert refused.value.message == (
        f"edges of attribute 'price': found {found}, "
        "expected at least two numbers that rise"
    )


def test_an_attribute_needs_a_name() -> None:
    with pytest.raises(InputError, match=r"^attribute: found an empty name$"):
        Axis("", (0, 1))


def test_a_grid_needs_attributes_that_differ() -> None:
    with pytest.raises(InputError, match=r"^sub-channels: found no attribute, "):
        Subchannels(())
    with pytest.raises(InputError, match=r"attribute 'a' is there twice$"):
        Subchannels((Axis("a", (0, 1)), Axis("b", (0, 1)), Axis("a", (0, 2))))


def test_too_many_sub_channels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subchannels, "MOST_SUBCHANNELS", 16)
    Subchannels.equal_width(["a", "b"], 0, 1, 4)
    with pytest.raises(InputError) as refused:
        Subchannels.equal_width(["a", "b"], 0, 1, 5)
    assert refused.value.message == "sub-channels: found 25, expected at most 16"
