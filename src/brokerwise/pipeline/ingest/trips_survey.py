"""Where trips are, and when: what must be known before regions can be counted."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from brokerwise.model.arrays import Bools, Int64s
from brokerwise.model.grid import Grid
from brokerwise.pipeline.ingest.exchange import Exchange
from brokerwise.pipeline.ingest.rejects import FAR, Rejects
from brokerwise.pipeline.ingest.sources import Source
from brokerwise.pipeline.ingest.trips_options import TripOptions, Window
from brokerwise.pipeline.ingest.trips_rows import Trips
from brokerwise.pipeline.ingest.trips_sources import POINTS, ZONES

_BINS_PER_DEGREE = 100
_Counts = tuple[Int64s, Int64s]  # values, and how often each is there


@dataclass(frozen=True)
class Survey:
    """The trips in the area: how many, from when to when they go, and how many
    positions there are in each stretch of time, if that was asked; and the rows of
    those outside."""

    trips: int
    first_ms: int
    last_ms: int
    stretches: _Counts
    outside: tuple[Rejects, ...]


def find_centre(exchange: Exchange, fold: int | None) -> tuple[float, float] | None:
    """The median longitude and latitude of all beginnings, rounded down to hundredths
    of a degree: a few strange places do not change it, nor does the order of rows.
    None if there are no trips."""

    def count(bucket: int, items: Iterator[Trips]) -> Iterator[list[_Counts]]:
        lots = [trips.degrees[trips.once(fold), :2] for trips in items]
        if lots:
            bins = np.floor(np.concatenate(lots) * _BINS_PER_DEGREE).astype(np.int64)
            yield [np.unique(column, return_counts=True) for column in bins.T]

    counted = exchange.read(count)
    if not counted:
        return None
    lon, lat = (_median(added([lots[axis] for lots in counted])) for axis in (0, 1))
    return lon / _BINS_PER_DEGREE, lat / _BINS_PER_DEGREE


def _median(counts: _Counts) -> int:
    values, numbers = counts
    upto = np.cumsum(numbers)
    return int(values[np.searchsorted(upto, (upto[-1] + 1) // 2)])


def added(counts: list[_Counts]) -> _Counts:
    """Several tallies as one, values ascending."""
    none = np.zeros(0, np.int64)
    values = np.concatenate([none, *(v for v, _ in counts)])
    numbers = np.concatenate([none, *(n for _, n in counts)])
    distinct, at = np.unique(values, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, at, numbers)
    return distinct, sums


def inside(trips: Trips, grid: Grid, within_mm: int) -> tuple[Int64s, Bools]:
    """Places in millimetres (columns: x, y, x, y), and which of them are near enough
    to the centre."""
    ends = [grid.project(trips.degrees[:, k], trips.degrees[:, k + 1]) for k in (0, 2)]
    places = np.column_stack([*ends[0], *ends[1]])
    return places, np.abs(places) <= within_mm


def survey(
    exchange: Exchange, sources: list[Source], grid: Grid, options: TripOptions
) -> Survey:
    """Only counts come to the driver."""
    within, every, width = options.within_mm, options.gps_ms, options.busiest_ms
    fold = options.fold_ms

    def look(bucket: int, items: Iterator[Trips]) -> Iterator[Survey]:
        for trips in items:
            _, near = inside(trips, grid, within)
            good = near.all(axis=1)
            begin, end = trips.begin[good], trips.end[good]
            stretches = positions_by_stretch(begin, end, every, width, fold)
            once = trips.once(fold)
            bad = ~good & once
            outside = (_outside(trips, near, bad, sources),) if bad.any() else ()
            if len(begin):
                count = int((good & once).sum())
                last = int(end.max())
                yield Survey(count, int(begin.min()), last, stretches, outside)
            else:
                yield Survey(0, 0, 0, stretches, outside)

    parts = exchange.read(look)
    used = [part for part in parts if part.last_ms > part.first_ms]
    return Survey(
        sum(part.trips for part in used),
        min((part.first_ms for part in used), default=0),
        max((part.last_ms for part in used), default=0),
        added([part.stretches for part in used]),
        tuple(rejects for part in parts for rejects in part.outside),
    )


def _outside(trips: Trips, near: Bools, bad: Bools, sources: list[Source]) -> Rejects:
    """Trips of which an end is outside; the first such column is at fault."""
    roles = sources[trips.source].roles
    by_zone = ZONES[0] in roles
    columns = [ZONES[0], ZONES[0], ZONES[1], ZONES[1]] if by_zone else POINTS
    found = np.array([roles.index(role) for role in columns], np.int32)
    reason = np.full(len(bad), FAR, np.int32)
    return trips.rejected(bad, reason, found[np.argmin(near, axis=1)])


def positions_by_stretch(
    begin: Int64s, end: Int64s, every: int, width: int | None, fold: int | None = None
) -> _Counts:
    """How many positions trips tell in each stretch of `width` milliseconds that has
    any; stretch s is [s * width, (s + 1) * width). With `fold` only those in [0, fold)
    count."""
    if width is None or not len(begin):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    first, last = begin // width, (end - 1) // width
    each = last - first + 1
    trip = np.repeat(np.arange(len(begin)), each)
    starts = np.repeat(np.cumsum(each) - each, each)
    stretch = first[trip] + np.arange(len(trip)) - starts
    positions = -((begin - end) // every)
    upto = [
        np.clip(-((begin[trip] - edge * width) // every), 0, positions[trip])
        for edge in (stretch, stretch + 1)
    ]
    within = slice(None) if fold is None else (stretch >= 0) & (stretch < fold // width)
    return added([(stretch[within], (upto[1] - upto[0])[within])])


def busiest(stretches: _Counts, width: int) -> Window:
    """The stretch with most positions, the first of several."""
    values, numbers = stretches
    at = int(values[np.argmax(numbers)])
    return at * width, (at + 1) * width
