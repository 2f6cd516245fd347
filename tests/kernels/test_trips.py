"""Trips through regions, against fractions and sets in plain Python."""

from fractions import Fraction
from itertools import groupby
from math import floor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted

from brokerwise.kernels import trips as kernels
from brokerwise.model.grid import region_keys

Trip = tuple[int, int, tuple[int, int, int, int]]  # begin, time taken, x, y, x, y

PLACE = st.integers(-30, 30)
TRIPS = st.lists(
    st.tuples(
        st.integers(-20, 20), st.integers(1, 40), st.tuples(PLACE, PLACE, PLACE, PLACE)
    ),
    max_size=5,
)
WINDOWS = st.tuples(st.integers(-30, 60), st.integers(0, 60)).map(
    lambda w: (w[0], w[0] + w[1])
)


def positions(trip: Trip, every: int, cell: int) -> list[tuple[int, tuple[int, int]]]:
    """When a taxi tells its position, and the region that it is in."""
    begin, whole, (x, y, to_x, to_y) = trip
    found = []
    for done in range(0, whole, every):
        share = Fraction(done, whole)
        at = (x + (to_x - x) * share, y + (to_y - y) * share)
        found.append((begin + done, (floor(at[0] / cell), floor(at[1] / cell))))
    return found


def expected(
    trips: list[Trip], every: int, cell: int, window: tuple[int, int]
) -> list[tuple[int, tuple[int, int], int, int]]:
    """Stays: the trip, the region, since when, and for how many positions."""
    stays = []
    for number, trip in enumerate(trips):
        told = positions(trip, every, cell)
        inside = [p for p in told if window[0] <= p[0] < window[1]]
        for region, together in groupby(inside, key=lambda p: p[1]):
            times = [time for time, _ in together]
            stays.append((number, region, times[0], len(times)))
    return stays


def found(
    trips: list[Trip], every: int, cell: int, window: tuple[int, int]
) -> list[tuple[int, int, int, int]]:
    begin = np.array([b for b, _, _ in trips], np.int64)
    end = begin + np.array([w for _, w, _ in trips], np.int64)
    places = np.array([p for _, _, p in trips], np.int64).reshape(-1, 4)
    columns = kernels.visits(begin, end, places, every, cell, window)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def with_keys(
    stays: list[tuple[int, tuple[int, int], int, int]],
) -> list[tuple[int, int, int, int]]:
    def key(region: tuple[int, int]) -> int:
        return int(region_keys(np.array([region[0]]), np.array([region[1]]))[0])

    return [(trip, key(region), time, count) for trip, region, time, count in stays]


@given(TRIPS, st.integers(1, 7), st.integers(1, 25), WINDOWS)
def test_stays_are_those_of_a_walk_in_fractions(
    trips: list[Trip], every: int, cell: int, window: tuple[int, int]
) -> None:
    stays = with_keys(expected(trips, every, cell, window))
    assert found(trips, every, cell, window) == stays


@given(TRIPS)
def test_stays_are_alike_in_plain_python(trips: list[Trip]) -> None:
    stays = with_keys(expected(trips, 2, 5, (-5, 25)))
    with interpreted(kernels):
        assert found(trips, 2, 5, (-5, 25)) == stays


SPANS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda s: (s[0], sum(s))),
    max_size=8,
)


@given(st.lists(SPANS, max_size=4))
def test_most_at_once_is_what_a_look_at_every_moment_finds(
    lists: list[list[tuple[int, int]]],
) -> None:
    starts = [s for spans in lists for s in sorted(a for a, _ in spans)]
    ends = [e for spans in lists for e in sorted(b for _, b in spans)]
    offsets = np.cumsum([0, *map(len, lists)])
    most = kernels.most_at_once(
        np.array(starts, np.int64), np.array(ends, np.int64), offsets.astype(np.int64)
    )
    assert most.tolist() == [
        max(sum(a <= moment < b for a, b in spans) for moment in range(20))
        for spans in lists
    ]
