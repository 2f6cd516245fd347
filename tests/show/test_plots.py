"""Plots as data."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.show.plots import Axis, Plot, Series, log_ticks, table_of


def plot(*series: Series, log: bool = True) -> Plot:
    return Plot("title", "caption", Axis("x", log), Axis("y", log), series)


@given(st.floats(-12, 15), st.floats(0.5, 30))
def test_ticks_are_few_ordered_and_on_the_axis(low: float, decades: float) -> None:
    ticks = log_ticks(10**low, 10 ** (low + decades))
    places = [place for place, _ in ticks]
    assert places == sorted(set(places))
    assert all(10**low <= place <= 10 ** (low + decades) for place in places)
    assert 2 <= len(ticks) <= 9


def test_a_long_axis_has_powers_of_ten() -> None:
    assert [label for _, label in log_ticks(0.8, 2e6)] == [
        *("1", "10", "100", "1,000", "10,000", "100,000", "1 M")
    ]


def test_a_short_axis_has_ticks_between() -> None:
    assert [label for _, label in log_ticks(3, 60)] == ["5", "10", "20", "50"]
    assert [label for _, label in log_ticks(8, 18)] == ["10", "15"]


def test_logarithmic_axes_leave_out_zeros_and_count_them() -> None:
    shown = plot(Series("s", [0, 1, 10], [5, 0, 2], ["a", "b", "c"]))
    assert shown.hidden == 2
    assert shown.drawable
    assert shown.spec()["series"][0]["x"] == [10]
    assert shown.spec()["series"][0]["hover"] == ["c"]


def test_linear_axes_show_zeros() -> None:
    shown = plot(Series("s", [0, 1], [5, 0], ["a", "b"]), log=False)
    assert shown.hidden == 0
    assert shown.spec()["series"][0]["x"] == [0, 1]
    assert "range" not in shown.spec()["x"]


def test_every_point_is_within_the_range() -> None:
    spec = plot(Series("s", [3, 4000], [0.01, 0.5], ["", ""])).spec()
    low, high = spec["x"]["range"]
    assert low < math.log10(3) < math.log10(4000) < high


def test_values_close_together_have_an_axis_with_ticks() -> None:
    spec = plot(Series("s", [7, 8], [1, 1], ["one", "other"])).spec()
    middle = math.log10(56) / 2
    assert spec["x"]["range"] == pytest.approx([middle - 0.25, middle + 0.25])
    assert spec["x"]["labels"] == ["5", "7", "10"]
    assert spec["y"]["labels"] == ["0.7", "1", "1.5"]


def test_nothing_above_zero_cannot_be_drawn() -> None:
    empty = plot(Series("s", [0], [1], ["zero"]), Series("t", [], [], []))
    assert not empty.drawable
    assert "range" not in empty.spec()["x"]


def test_labels_cannot_be_markup() -> None:
    hostile = Plot(
        "t",
        "c",
        Axis("<b>x</b>"),
        Axis("y"),
        [Series('<a href="x">n</a>', [1], [1], ["<i>h</i>"])],
    )
    spec = hostile.spec()
    assert spec["x"]["title"] == "&lt;b&gt;x&lt;/b&gt;"
    assert "<" not in spec["series"][0]["name"] + spec["series"][0]["hover"][0]


def test_an_axis_may_have_names_in_place_of_numbers() -> None:
    bars = Series("s", [0, 1], [5, 0], ["a", "b"], "bar", 3, True)
    names = Axis("", False, ["<b>one</b>", "two"])
    spec = Plot("t", "c", names, Axis("y", False), [bars], stacked=True).spec()
    assert spec["x"]["ticks"] == [0, 1]
    assert spec["x"]["labels"] == ["&lt;b&gt;one&lt;/b&gt;", "two"]
    low, high = spec["x"]["range"]
    assert low < -0.5 and high > 1.5
    assert spec["stacked"]
    series = spec["series"][0]
    assert (series["style"], series["colour"], series["dashed"]) == ("bar", 3, True)


def test_a_plot_without_a_table_gets_one_of_its_points() -> None:
    first = Series("a", [0, 1.5, 3], [5, 0.25, 1234], ["", "", ""])
    second = Series("b", [3, 4], [1, 2], ["", ""])
    table = table_of(plot(first, second, log=False))
    assert (table.caption, table.columns) == ("title", ("x", "a", "b"))
    assert table.rows == [
        *[("0", "5", ""), ("1.5", "0.25", ""), ("3", "1,234", "1"), ("4", "", "2")]
    ]


def test_of_many_points_a_table_has_some_and_the_last() -> None:
    many = Series("a", range(1000), range(1000), [""] * 1000)
    table = table_of(plot(many, log=False))
    assert len(table.rows) <= 62
    assert (table.rows[0][0], table.rows[-1][0]) == ("0", "999")
    assert table.caption.endswith("of 1,000 points")


def test_places_with_names_are_called_by_them() -> None:
    bars = Series("a", [0, 1], [3, 4], ["", ""], "bar")
    line = Series("limit", [-0.5, 1.5], [9, 9], ["", ""], "line")
    named = Plot("t", "c", Axis("", False, ["x", "y"]), Axis("", False), [bars, line])
    assert table_of(named).rows == [("x", "3", ""), ("y", "4", "")]
