"""Regions around a point of the earth."""

from math import asin, cos, radians, sin, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.errors import InputError
from brokerwise.model.grid import EARTH_METRES, Grid, key_names, region_keys

NEW_YORK = Grid(-73.99, 40.75, 500_000)
NUMBER = st.integers(-(2**30), 2**30)


def great_circle(lon: float, lat: float, to_lon: float, to_lat: float) -> float:
    """Metres between two places on a sphere, by the haversine formula."""
    half = [radians(to_lat - lat) / 2, radians(to_lon - lon) / 2]
    chord = sin(half[0]) ** 2
    chord += cos(radians(lat)) * cos(radians(to_lat)) * sin(half[1]) ** 2
    return 2 * EARTH_METRES * asin(sqrt(chord))


@given(st.floats(-0.4, 0.4), st.floats(-0.3, 0.3))
def test_distances_from_the_centre_are_right_to_a_hundredth(
    east: float, north: float
) -> None:
    lon, lat = NEW_YORK.centre_lon + east, NEW_YORK.centre_lat + north
    x, y = NEW_YORK.project(np.array([lon]), np.array([lat]))
    flat = np.hypot(x[0], y[0]) / 1000
    around = great_circle(NEW_YORK.centre_lon, NEW_YORK.centre_lat, lon, lat)
    assert flat == pytest.approx(around, rel=0.01, abs=0.01)


@given(NUMBER, NUMBER)
def test_a_region_and_its_key_are_the_same(x: int, y: int) -> None:
    keys = region_keys(np.array([x]), np.array([y]))
    assert key_names(keys) == [f"{x}_{y}"]


def test_the_centre_is_a_corner_of_four_regions() -> None:
    lon, lat, step = NEW_YORK.centre_lon, NEW_YORK.centre_lat, 0.001
    around = [(step, step), (-step, step), (step, -step), (-step, -step)]
    found = [NEW_YORK.region(lon + east, lat + north) for east, north in around]
    assert found == ["0_0", "-1_0", "0_-1", "-1_-1"]


@pytest.mark.parametrize(
    ("lon", "lat", "cell", "message"),
    [
        (181.0, 0.0, 1, "found centre 0.0, 181.0"),
        (0.0, 90.0, 1, "found centre 90.0, 0.0"),
        (0.0, 0.0, 0, "found cells of 0 mm"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(
    lon: float, lat: float, cell: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Grid(lon, lat, cell)
