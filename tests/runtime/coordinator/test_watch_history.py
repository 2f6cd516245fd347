"""The last quarter of an hour, a point a second."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.coordinator.watch_history import (
    KEPT_POINTS,
    History,
    Spread,
    spread,
)

LOADS = st.lists(st.floats(0.001, 1e6), min_size=1, max_size=20)


@given(LOADS)
def test_load_is_shared_out_as_statistics_say(loads: list[float]) -> None:
    found = spread(loads)
    mean = statistics.fmean(loads)
    assert found.max_load == pytest.approx(max(loads), abs=1e-3)
    assert found.mean_load == pytest.approx(mean, abs=1e-3)
    assert found.cov == pytest.approx(statistics.pstdev(loads) / mean, abs=1e-3)


@pytest.mark.parametrize("loads", [[], [0.0], [0.0, 0.0]])
def test_without_load_nothing_is_uneven(loads: list[float]) -> None:
    assert spread(loads) == Spread(0.0, 0.0, 0.0)


def test_a_point_has_the_loads_of_those_who_were_there() -> None:
    history = History()
    history.add(1.0, {"b0": 10.0}, Spread(10.0, 10.0, 0.0), 4.0, 0)
    history.add(2.0, {"b0": 10.0, "b1": 30.0}, Spread(30.0, 20.0, 0.5), 5.0, 3)
    history.add(3.0, {"b1": 31.0}, Spread(31.0, 31.0, 0.0), 6.0, 0)
    assert history.shown() == {
        "at": [1.0, 2.0, 3.0],
        "max_load": [10.0, 30.0, 31.0],
        "mean_load": [10.0, 20.0, 31.0],
        "cov": [0.0, 0.5, 0.0],
        "loads": {"b0": [10.0, 10.0, None], "b1": [None, 30.0, 31.0]},
        "moves": [[2.0, 3]],
        "messages_per_second": [4.0, 5.0, 6.0],
    }


def test_nothing_is_shown_of_a_fleet_that_was_not_looked_at() -> None:
    shown = History().shown()
    assert shown["at"] == shown["cov"] == shown["moves"] == []
    assert shown["loads"] == {}


def test_only_the_last_points_are_kept_and_brokers_go_with_theirs() -> None:
    history = History()
    history.add(0.0, {"old": 1.0}, Spread(1.0, 1.0, 0.0), 0.0, 1)
    for second in range(1, KEPT_POINTS + 1):
        history.add(second, {"b0": second}, Spread(second, second, 0.0), 0.0, 0)
    shown = history.shown()
    assert (len(shown["at"]), shown["at"][0]) == (KEPT_POINTS, 1)
    assert list(shown["loads"]) == ["b0"]
    assert shown["moves"] == []
