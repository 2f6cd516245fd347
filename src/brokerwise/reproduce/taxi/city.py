"""Taxis on their way through a city of 3 km by 3 km, drawn from a seed, or from trip
records as `ingest --trips` reads them.

Places are whole centimetres, so whoever computes a region or a speed gets the same.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import dist

import numpy as np

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

REGION_CM = 50_000
SIDE_CM = 6 * REGION_CM
_SPEED_CM = (500, 1_400)  # a second
_GLITCH = 0.01  # of all positions are nonsense
_FAR_CM = 2_000_000
_CENTRES = ((150_000, 150_000), (90_000, 210_000), (220_000, 80_000))

Place = tuple[int, int]  # x, y in centimetres


@dataclass(frozen=True)
class Track:
    """Where a taxi is in each second; None while it is not out."""

    taxi: str
    places: tuple[Place | None, ...]


@dataclass(frozen=True)
class Position:
    """What a taxi tells, `second` seconds after the beginning: where it is, and where
    it was a second before. With `glitch` its receiver says nonsense."""

    taxi: str
    seq: int
    second: int
    place: Place
    before: Place
    glitch: bool

    @property
    def told(self) -> Place:
        x, y = self.place
        return (x + _FAR_CM, y) if self.glitch else (x, y)

    @property
    def region(self) -> str:
        """That of the topic it is told to: a taxi knows where it is."""
        return region_of(self.place)

    def message(self, told_at: int) -> dict[str, str | int]:
        """As it is published; `told_at` is milliseconds since 1970."""
        return {
            "taxi": self.taxi,
            "seq": self.seq,
            "x": self.told[0],
            "y": self.told[1],
            "before_x": self.before[0],
            "before_y": self.before[1],
            "told_at": told_at,
        }


def region_of(place: Place) -> str:
    return f"{place[0] // REGION_CM}_{place[1] // REGION_CM}"


def drawn_tracks(seed: int, taxis: int, seconds: int) -> list[Track]:
    """Each drives from somewhere to somewhere, all the time."""
    return [
        Track(f"taxi{n:03}", tuple(_drive(random.Random(f"{seed}/{n}"), seconds)))
        for n in range(taxis)
    ]


def positions(track: Track, seed: int) -> list[Position]:
    """What a taxi tells, second by second; seqs count from 1."""
    rng = random.Random(f"{seed}/{track.taxi}/glitches")
    found: list[Position] = []
    before: Place | None = None
    for second, place in enumerate(track.places):
        if place is not None:
            glitch = rng.random() < _GLITCH
            found.append(
                Position(
                    *(track.taxi, len(found) + 1, second, place),
                    *(before or place, glitch),
                )
            )
        before = place
    return found


def _drive(rng: random.Random, seconds: int) -> Iterator[Place]:
    here, goal = _somewhere(rng), _somewhere(rng)
    speed = rng.randint(*_SPEED_CM)
    for _ in range(seconds):
        yield here
        away = dist(here, goal)
        if away <= speed:
            here, goal = goal, _somewhere(rng)
            speed = rng.randint(*_SPEED_CM)
        else:
            share = speed / away
            here = (
                here[0] + round((goal[0] - here[0]) * share),
                here[1] + round((goal[1] - here[1]) * share),
            )


def _somewhere(rng: random.Random) -> Place:
    """More often near one of the centres than elsewhere."""
    x, y = rng.choice(_CENTRES)
    near = rng.random() < 0.7
    place = (rng.gauss(x, 30_000), rng.gauss(y, 30_000)) if near else (-1.0, -1.0)
    if not all(0 <= value < SIDE_CM for value in place):
        place = (rng.random() * (SIDE_CM - 1), rng.random() * (SIDE_CM - 1))
    return int(place[0]), int(place[1])


# From trip records; one process


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
