"""Tracks of taxis from trip records, as `ingest --trips` reads them; one process."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from brokerwise.experiments.taxi.city import Place, Track
from brokerwise.model.errors import InputError
from brokerwise.model.grid import Grid
from brokerwise.pipeline.ingest.exchange import Buckets
from brokerwise.pipeline.ingest.options import TripOptions
from brokerwise.pipeline.ingest.reasons import Tally
from brokerwise.pipeline.ingest.records import (
    EmitTrips,
    Trips,
    Zones,
    find_trips,
    read_zones,
)
from brokerwise.pipeline.ingest.rows import read_rows
from brokerwise.pipeline.ingest.sources import split_sources

_REGION_MM = 500_000
_DATA = 0  # the one bucket

Drive = tuple[int, int, Place, Place]  # from when to when (seconds), and where


@dataclass(frozen=True)
class _Told:
    """Zones for one process."""

    value: Zones


def tracks_of_trips(
    path: str, zones: str | None, taxis: int, seconds: int
) -> list[Track]:
    """The busiest stretch of so many seconds, and in it the taxis that are out most.
    While a taxi has no passenger it says nothing."""
    drives = read_drives(TripOptions((path,), zones=zones))
    if not drives:
        raise InputError(f"{path} has no trip that can be driven")
    begin = _busiest(drives, seconds)
    tracks = [
        Track(taxi, tuple(_place(found, begin + s) for s in range(seconds)))
        for taxi, found in drives.items()
    ]
    out = {t.taxi: sum(place is not None for place in t.places) for t in tracks}
    tracks.sort(key=lambda t: (-out[t.taxi], t.taxi))
    return [track for track in tracks[:taxis] if out[track.taxi]]


def read_drives(options: TripOptions) -> dict[str, list[Drive]]:
    """The trips of each taxi, in centimetres around where most begin."""
    zones = None if options.zones is None else _Told(read_zones(options.zones))
    emit = EmitTrips(Buckets(1, 1), options, zones)
    found: list[Trips] = []
    for splits in split_sources(find_trips(options)):
        for split in splits:
            for rows in read_rows(split):
                emitted = emit(rows, Tally())
                found += [trips for bucket, trips in emitted if bucket == _DATA]
    if not found:
        return {}
    degrees = np.concatenate([trips.degrees for trips in found])
    lon, lat = np.median(degrees[:, :2], axis=0).round(2).tolist()
    grid = Grid(lon, lat, _REGION_MM)
    drives: dict[str, list[Drive]] = {}
    for trips in found:
        _add(trips, grid, drives)
    return drives


def _add(trips: Trips, grid: Grid, drives: dict[str, list[Drive]]) -> None:
    text, offsets = trips.data.tobytes().decode(), trips.offsets().tolist()
    ends = [grid.project(trips.degrees[:, k], trips.degrees[:, k + 1]) for k in (0, 2)]
    (x, y), (to_x, to_y) = [[axis // 10 for axis in end] for end in ends]
    for i in range(len(trips.begin)):
        drive = (
            int(trips.begin[i]) // 1000,
            int(trips.end[i]) // 1000,
            (int(x[i]), int(y[i])),
            (int(to_x[i]), int(to_y[i])),
        )
        drives.setdefault(text[offsets[i] : offsets[i + 1]], []).append(drive)


def _busiest(drives: dict[str, list[Drive]], seconds: int) -> int:
    """When the stretch begins that has most seconds of trips in it."""
    within = Counter[int]()
    for found in drives.values():
        for begin, end, *_ in found:
            for stretch in range(begin // seconds, (end - 1) // seconds + 1):
                first = max(begin, stretch * seconds)
                within[stretch] += min(end, (stretch + 1) * seconds) - first
    return max(within, key=lambda stretch: (within[stretch], -stretch)) * seconds


def _place(drives: list[Drive], second: int) -> Place | None:
    for begin, end, start, goal in drives:
        if begin <= second < end:
            done, whole = second - begin, end - begin
            return (
                start[0] + (goal[0] - start[0]) * done // whole,
                start[1] + (goal[1] - start[1]) * done // whole,
            )
    return None
