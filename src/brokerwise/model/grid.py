"""A plane with square regions around a point of the earth."""

from dataclasses import dataclass
from math import cos, pi, radians

import numpy as np
import numpy.typing as npt

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import InputError

EARTH_METRES = 6_371_008.8  # mean radius
_MM_PER_DEGREE = pi * EARTH_METRES * 1000 / 180
_HALF = 1 << 31


@dataclass(frozen=True)
class Grid:
    """Regions of `cell_mm` by `cell_mm` millimetres; a corner of region 0, 0 is at
    the centre, x goes east and y north.

    A degree of longitude is as long everywhere as it is at the centre's latitude
    (equirectangular projection): 50 km north or south of New York that is wrong by
    0.7 %. Places are whole millimetres, so which region one is in is exact.
    """

    centre_lon: float
    centre_lat: float
    cell_mm: int

    def __post_init__(self) -> None:
        if not (abs(self.centre_lon) <= 180 and abs(self.centre_lat) < 90):
            raise InputError(
                f"grid: found centre {self.centre_lat}, {self.centre_lon}, expected a "
                "latitude between -90 and 90 and a longitude from -180 to 180"
            )
        if self.cell_mm < 1:
            raise InputError(f"grid: found cells of {self.cell_mm} mm, expected more")

    def project(self, lon: Float64s, lat: Float64s) -> tuple[Int64s, Int64s]:
        """Degrees to millimetres east and north of the centre."""
        east = (lon - self.centre_lon) * (cos(radians(self.centre_lat)))
        north = lat - self.centre_lat
        x, y = np.rint(east * _MM_PER_DEGREE), np.rint(north * _MM_PER_DEGREE)
        return x.astype(np.int64), y.astype(np.int64)

    def region(self, lon: float, lat: float) -> str:
        """The name of the region that a place is in."""
        x, y = self.project(np.array([lon]), np.array([lat]))
        return region_name(int(x[0]) // self.cell_mm, int(y[0]) // self.cell_mm)


def region_name(x: int, y: int) -> str:
    return f"{x}_{y}"


def region_keys(x: npt.NDArray[np.int64], y: npt.NDArray[np.int64]) -> Int64s:
    """One number for each pair of region numbers, which are below 2^31."""
    return (x << 32) + (y + _HALF)


def key_names(keys: Int64s) -> list[str]:
    """The names of regions, by their keys."""
    columns, rows = keys >> 32, (keys & 0xFFFF_FFFF) - _HALF
    pairs = zip(columns.tolist(), rows.tolist(), strict=True)
    return [region_name(x, y) for x, y in pairs]
